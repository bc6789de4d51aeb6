//! Text that fits a screen of 80 columns.

/// Columns of a line.
const WIDTH: usize = 80;

/// A space at which no line is broken.
pub(super) const HARD_SPACE: char = '\u{a0}';

/// The line, cut to the width of the screen.
pub(super) fn fit(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let kept: String = line.chars().take(WIDTH - 3).collect();
    format!("{}...", kept.trim_end())
}

/// The text, broken between words into lines that fit the screen. All but the first begin with `indent`. A word that is
/// longer than a line gets a line of its own.
pub(super) fn wrap(text: &str, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| line.replace(HARD_SPACE, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_long_are_cut_or_broken() {
        let long = "word ".repeat(40);
        assert_eq!(fit("short\nsecond"), "short");
        assert!(fit(&long).chars().count() <= WIDTH && fit(&long).ends_with("..."));
        let lines = wrap(&long, "  ");
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH) && lines[1].starts_with("  word"));
        let kept = wrap(&format!("{} a{HARD_SPACE}b", "c".repeat(78)), "");
        assert_eq!(kept[1..], ["a b"]);
        assert_eq!(wrap("", ""), Vec::<String>::new());
    }
}
