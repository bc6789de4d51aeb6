//! What the command line says.

use std::str::FromStr;

/// What is printed when the command line is wrong.
pub(crate) const USAGE: &str = "\
usage: compare cases     FLAGS RAYON-CASE HIVE-CASE  two builds of rayon-case, which prints its own time
       compare processes FLAGS FILE                  whole processes; each line of FILE: name, tab, command of the build
                                                     with Rayon, tab, command of the build with hive
flags: --rounds K        pairs of processes for each row [default: 15]
       --threads LIST    numbers of threads [default: 1,2]
       --case LIST       only these rows [default: all]
       --milliseconds M  how long a case is measured [default: 100]";

/// One thing to run, in two builds.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Its name in the table.
    pub(crate) name: String,
    /// What the shell is to run: with Rayon, with hive. `$THREADS` is the number of threads.
    pub(crate) commands: [String; 2],
}

/// What to run, and how often.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) rounds: usize,
    pub(crate) threads: Vec<usize>,
    /// Whether the commands print their time in nanoseconds. If not, the whole process is timed.
    pub(crate) times_itself: bool,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let times_itself = match arguments.next().as_deref() {
            Some("cases") => true,
            Some("processes") => false,
            _ => return Err("cases, or processes?".to_owned()),
        };
        let (mut rounds, mut threads, mut milliseconds) = (15, vec![1, 2], 100_u64);
        let mut only: Vec<String> = Vec::new();
        let mut files = Vec::new();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--rounds" => rounds = number(&value()?)?,
                "--threads" => threads = list(&value()?)?,
                "--milliseconds" => milliseconds = number(&value()?)?,
                "--case" => only = list(&value()?)?,
                flag if flag.starts_with('-') => return Err(format!("what is {flag}?")),
                _ => files.push(argument),
            }
        }
        let mut pairs = match (times_itself, &files[..]) {
            (true, [rayon, hive]) => cases(rayon, hive, milliseconds)?,
            (false, [file]) => lines(file)?,
            _ => return Err("which programs?".to_owned()),
        };
        if let Some(unknown) = only.iter().find(|name| pairs.iter().all(|pair| pair.name != **name)) {
            return Err(format!("there is no case {unknown}"));
        }
        pairs.retain(|pair| only.is_empty() || only.contains(&pair.name));
        if rounds == 0 || threads.contains(&0) {
            return Err("rounds and threads begin at 1".to_owned());
        }
        Ok(Self { pairs, rounds, threads, times_itself })
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(number).collect()
}

/// The cases that rayon-case lists.
fn cases(rayon: &str, hive: &str, milliseconds: u64) -> Result<Vec<Pair>, String> {
    let output = std::process::Command::new(rayon).arg("--list").output();
    let output = output.map_err(|error| format!("cannot run {rayon}: {error}"))?;
    let command = |program: &str, name: &str| format!("exec '{program}' {name} \"$THREADS\" {milliseconds}");
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.lines().filter_map(|line| line.split('\t').next());
    Ok(names
        .map(|name| Pair { name: name.to_owned(), commands: [command(rayon, name), command(hive, name)] })
        .collect())
}

/// The lines of a file.
fn lines(file: &str) -> Result<Vec<Pair>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    text.lines()
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [name, rayon, hive] => Ok(Pair { name: name.to_owned(), commands: [rayon, hive].map(str::to_owned) }),
            _ => Err(format!("{file}: a line has a name and two commands, with tabs between them: {line}")),
        })
        .collect()
}
