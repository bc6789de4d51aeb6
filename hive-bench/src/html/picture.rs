//! A picture in a file of its own: what a browser, an editor or a page that embeds it needs to show it on light and on dark ground.

use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("picture.css");

/// The file. Its name is for those who do not see it.
pub(super) fn file(name: &str, (width, height): (usize, usize), drawn: &Markup) -> String {
    let view = format!("0 0 {width} {height}");
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(view) width=(width) height=(height) {
            title { (name) }
            style { (PreEscaped(STYLE)) }
            rect.ground width="100%" height="100%" {}
            (drawn)
        }
    };
    // What is HTML for a browser that embeds it is XML in a file: nothing here has an end that XML would miss.
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", picture.into_string())
}
