//! What Markdown and comments refer to is there: files, folders and headings, and what types have.

mod headings;
mod named;
mod targets;
mod type_parts;

use std::collections::BTreeSet;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use crate::finding::Finding;
use crate::list::{self, Found};
use crate::repository::{self, File, Kind};
use headings::anchors;
use targets::Targets;
use type_parts::TypeParts;

/// How many references to nothing are still allowed: a top folder, a tab and their number.
const LIST: &str = "links.txt";

pub(crate) fn check() -> Vec<Finding> {
    let targets = Targets::new(repository::paths().iter().cloned());
    let parts = TypeParts::new(repository::files().iter());
    let mut found = Found::new();
    for file in repository::files() {
        let mut findings = named::check(file, &targets);
        findings.extend(type_parts::check(file, &parts));
        if file.kind() == Kind::Markdown {
            findings.extend(links(file, &targets, &|path| {
                let page = repository::files().iter().find(|page| page.path == path);
                page.map(|page| anchors(&page.text))
            }));
        }
        if !findings.is_empty() {
            found.entry(repository::folder(&file.path).to_owned()).or_default().extend(findings);
        }
    }
    list::compare_counts(LIST, &found)
}

/// The anchors of the page at a path, if that is a page.
type Anchors<'a> = dyn Fn(&str) -> Option<BTreeSet<String>> + 'a;

fn links(file: &File, targets: &Targets, anchors: &Anchors<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (event, range) in Parser::new_ext(&file.text, Options::ENABLE_TABLES).into_offset_iter() {
        let (Event::Start(Tag::Link { link_type, dest_url, .. })
        | Event::Start(Tag::Image { link_type, dest_url, .. })) = event
        else {
            continue;
        };
        // Those with a scheme lead elsewhere; those with `::` are rustdoc's, which checks them.
        let is_elsewhere = matches!(link_type, LinkType::Autolink | LinkType::Email) || dest_url.contains(':');
        if !is_elsewhere && let Err(problem) = follow(file, &dest_url, targets, anchors) {
            let line = file.text[..range.start].matches('\n').count() + 1;
            findings.push(Finding::new(&file.path, line, format!("the link {dest_url} leads nowhere: {problem}")));
        }
    }
    findings
}

fn follow(file: &File, link: &str, targets: &Targets, anchors: &Anchors<'_>) -> Result<(), String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let page = match path {
        "" => file.path.clone(),
        _ => targets::joined(&file.path, path).ok_or("that is outside the repository")?,
    };
    if !targets.has(&page) {
        return Err(format!("there is no {page}"));
    }
    match anchors(&page) {
        Some(headings) if !anchor.is_empty() && !headings.contains(anchor) => {
            Err(format!("{page} has no heading with the anchor #{anchor}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let targets = Targets::new(["docs/a.md", "docs/b.md", "x/c.rs"].map(str::to_owned).into_iter());
        let file = File { path: "docs/a.md".to_owned(), text: text.to_owned() };
        let read = |path: &str| path.ends_with("b.md").then(|| anchors("# One heading\n"));
        links(&file, &targets, &read).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_what_is_there_pass() {
        let text =
            "[b](b.md), [c](../x/c.rs), [x](../x), [h](b.md#one-heading), [w](https://a.b/c), [r][r]\n\n[r]: b.md\n";
        assert_eq!(problems(text), [] as [&str; 0]);
    }

    #[test]
    fn links_to_nothing_fail() {
        let found = problems("One.\n[d](d.md)\n\n[h](b.md#two)\n[up](../../e.md)\n");
        assert_eq!(found[0], "docs/a.md:2: the link d.md leads nowhere: there is no docs/d.md");
        assert!(found[1].contains("docs/b.md has no heading with the anchor #two"), "{found:?}");
        assert!(found[2].contains("outside the repository"), "{found:?}");
    }
}
