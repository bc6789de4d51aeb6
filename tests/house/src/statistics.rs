//! The repository in figures, as one table, to compare before and after a change.

use std::collections::BTreeSet;

use crate::imports::{self, Graph};
use crate::layers::Layers;
use crate::repository::{self, File, Kind};
use crate::{comments, lines, sizes, tests_in, words};

/// The table, as lines of text.
pub(crate) fn table() -> String {
    let [library, bench, ..] = imports::of_the_repository();
    let mut rows = vec![["".to_owned(), "hive/".to_owned(), "hive-bench/src".to_owned()]];
    let graphs = [library, bench];
    let row = |name: &str, of: &dyn Fn(&Graph) -> String| [name.to_owned(), of(graphs[0]), of(graphs[1])];
    rows.push(row("top modules (rooms)", &|graph| graph.rooms().len().to_string()));
    rows.push(row("arrows between files", &|graph| graph.arrows().count().to_string()));
    rows.push(row("  to the own folder's file, allowed", &|graph| own(graph).to_string()));
    rows.push(row("arrows between rooms", &|graph| between_rooms(graph, &|_| true).len().to_string()));
    rows.push(upward(library));
    rows.push(row("circles, and files in each", &circles));
    let texts = [Texts::of("hive/", library), Texts::of("hive-bench/src/", bench)];
    let row = |name: &str, of: &dyn Fn(&Texts) -> String| [name.to_owned(), of(&texts[0]), of(&texts[1])];
    rows.push(row("files", &|texts| texts.files.len().to_string()));
    rows.push(row("lines of code, without tests", &|texts| texts.code.to_string()));
    rows.push(row("lines of comment", &|texts| texts.comments.to_string()));
    rows.push(row("comment lines a code line", &|texts| format!("{:.2}", texts.comments as f64 / texts.code as f64)));
    rows.push(row("public items (`pub`)", &|texts| texts.public.to_string()));
    rows.push(row("public to the crate or a module", &|texts| texts.restricted.to_string()));
    rows.push(row("longest file", &Texts::longest_file));
    rows.push(row("files of more than 450 lines", &|texts| texts.long_files(450).to_string()));
    rows.push(row("longest function", &Texts::longest_function));
    rows.push(row("functions of more than 60 lines", &|texts| texts.long_functions(60).to_string()));
    rows.push(row("longest line", &|texts| texts.longest_line.to_string()));
    rows.push(row("lines of more than 120 columns", &|texts| texts.long_lines.to_string()));
    let mut table = in_columns(&rows);
    table += &format!("\nIn the whole repository {} lines are longer than 120 columns.\n", lines::all().len());
    table + &waiting() + &cuts(&graphs) + &own_folders(&graphs)
}

/// Imports that could be taken away to be rid of the circles.
fn cuts(graphs: &[&Graph]) -> String {
    let circles = graphs.iter().flat_map(|graph| graph.circles().into_iter().map(move |circle| (graph, circle)));
    let lines = circles.map(|(graph, circle)| {
        let cuts: String = graph.cuts(&circle).iter().map(|&arrow| format!("    {}\n", graph.show(arrow))).collect();
        format!(
            "Without these imports, for example, the {} files with {} have no circle:\n{cuts}",
            circle.len(),
            graph.files[circle[0]]
        )
    });
    lines.collect()
}

/// The imports that are left out of the search for circles.
fn own_folders(graphs: &[&Graph]) -> String {
    let lines = graphs.iter().flat_map(|graph| {
        let own = graph.arrows().filter(|&arrow| graph.is_to_own_folder(arrow));
        own.map(|arrow| format!("    {}\n", graph.show(arrow)))
    });
    String::from("Imports from the file of a module around, which count for no circle:\n") + &lines.collect::<String>()
}

fn own(graph: &Graph) -> usize {
    graph.arrows().filter(|&arrow| graph.is_to_own_folder(arrow)).count()
}

fn between_rooms<'a>(graph: &'a Graph, is_meant: &dyn Fn(imports::Arrow) -> bool) -> BTreeSet<(&'a str, &'a str)> {
    let arrows = graph.arrows().filter(|&arrow| is_meant(arrow));
    let rooms = arrows.map(|arrow| (graph.room(arrow.from), graph.room(arrow.to)));
    rooms.filter(|(from, to)| from != to && *from != "lib").collect()
}

fn upward(library: &Graph) -> [String; 3] {
    let layers = Layers::of_the_repository();
    let up = between_rooms(library, &|arrow| layers.is_upward(library, arrow)).len();
    ["  of these, upward".to_owned(), up.to_string(), "no layers".to_owned()]
}

fn circles(graph: &Graph) -> String {
    let circles = graph.circles();
    let sizes: Vec<_> = circles.iter().map(|circle| circle.len().to_string()).collect();
    if sizes.is_empty() { "0".to_owned() } else { format!("{}: {}", sizes.len(), sizes.join(", ")) }
}

/// The source files below a folder.
struct Texts {
    files: Vec<&'static File>,
    code: usize,
    comments: usize,
    public: usize,
    restricted: usize,
    longest_line: usize,
    long_lines: usize,
    functions: Vec<sizes::Length>,
}

impl Texts {
    fn of(folder: &str, graph: &Graph) -> Self {
        let files: Vec<_> = repository::files_of(Kind::Rust).filter(|file| file.path.starts_with(folder)).collect();
        let functions = files.iter().flat_map(|file| sizes::of_functions(file)).collect();
        let mut texts = Self {
            files,
            code: 0,
            comments: 0,
            public: 0,
            restricted: 0,
            longest_line: 0,
            long_lines: lines::all().iter().filter(|line| line.file().starts_with(folder)).count(),
            functions,
        };
        for file in texts.files.clone() {
            // A module of tests that has a file of its own is not the crate's code. The graph has no such files.
            texts.add(file, !graph.files.contains(&file.path));
        }
        texts
    }

    fn add(&mut self, file: &File, is_of_tests: bool) {
        let tests = tests_in::lines(&file.text);
        for (index, line) in file.text.lines().enumerate() {
            self.longest_line = self.longest_line.max(line.chars().count());
            if is_of_tests || line.trim().is_empty() || tests.iter().any(|range| range.contains(&(index + 1))) {
                continue;
            }
            if comments::is_comment(line) {
                self.comments += 1;
            } else {
                self.code += 1;
                match visibility(line) {
                    Some(Visibility::Public) => self.public += 1,
                    Some(Visibility::Restricted) => self.restricted += 1,
                    None => {}
                }
            }
        }
    }

    fn long_files(&self, most: usize) -> usize {
        self.files.iter().filter(|file| sizes::of_file(file).lines > most).count()
    }

    fn long_functions(&self, most: usize) -> usize {
        self.functions.iter().filter(|function| function.lines > most).count()
    }

    fn longest_file(&self) -> String {
        let lengths = self.files.iter().map(|file| sizes::of_file(file));
        lengths.max_by_key(|file| file.lines).map_or("none".into(), |file| format!("{} {}", file.lines, file.path))
    }

    fn longest_function(&self) -> String {
        let longest = self.functions.iter().max_by_key(|function| function.lines);
        longest.map_or("none".into(), |it| format!("{} {} ({}:{})", it.lines, it.name, it.path, it.line))
    }
}

#[derive(Debug, PartialEq)]
enum Visibility {
    Public,
    Restricted,
}

/// How visible the item is that a line of code begins, if it begins one that others see. Fields are no items.
fn visibility(line: &str) -> Option<Visibility> {
    const ITEMS: [&str; 11] =
        ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "unsafe", "async", "union"];
    let rest = line.trim_start().strip_prefix("pub")?;
    let (visibility, rest) = match rest.strip_prefix('(') {
        Some(rest) => (Visibility::Restricted, rest.split_once(')')?.1),
        None => (Visibility::Public, rest),
    };
    let word = rest.split_whitespace().next()?;
    ITEMS.contains(&word).then_some(visibility)
}

fn waiting() -> String {
    let waiting = words::waiting();
    let there: Vec<_> = waiting.iter().filter(|(_, count)| **count > 0).collect();
    let list: Vec<_> = there.iter().map(|(word, count)| format!("{word} {count}")).collect();
    let gone = waiting.len() - there.len();
    format!(
        "Of {} forbidden words that are not yet in force, {gone} are gone; the others occur: {}.\n",
        waiting.len(),
        list.join(", ")
    )
}

fn in_columns(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter().map(|[name, one, other]| format!("{name:first$}  {one:second$}  {other}\n")).collect()
}

#[test]
fn columns_are_as_wide_as_their_widest_word() {
    let rows = [["a", "bb", "c"], ["aaa", "b", "c"]].map(|row| row.map(str::to_owned));
    assert_eq!(in_columns(&rows), "a    bb  c\naaa  b   c\n");
}

#[test]
fn items_are_told_from_fields_and_imports() {
    assert_eq!(visibility("    pub fn f() {}"), Some(Visibility::Public));
    assert_eq!(visibility("pub(crate) struct X;"), Some(Visibility::Restricted));
    for line in ["    pub(crate) field: u32,", "pub use x::y;", "fn f() {}"] {
        assert_eq!(visibility(line), None, "{line}");
    }
}
