//! A picture in a file of its own: what a browser, an editor or a page that embeds it needs to show it on light and on
//! dark ground.

use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("picture.css");

/// The text of the file. The name is for readers who cannot see the picture.
pub(crate) fn file(name: &str, (width, height): (usize, usize), drawn: &Markup) -> String {
    let view = format!("0 0 {width} {height}");
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(view) width=(width) height=(height) {
            title { (name) }
            style { (PreEscaped(STYLE)) }
            rect.ground width="100%" height="100%" {}
            (drawn)
        }
    };
    // The markup is written as HTML, but in a file it is XML. That works because every element here has an end tag.
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", picture.into_string())
}
