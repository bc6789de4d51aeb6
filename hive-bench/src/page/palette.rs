//! One colour and one mark for each runtime, the same on all charts, on light and on dark ground.
//!
//! hive is blue, and no rival is. Two runtimes whose colours some readers cannot tell apart have different marks.

use std::fmt::Write;

use plotters::style::RGBColor;

use crate::catalog::RuntimeId;

/// A colour on light ground, and what takes its place on dark ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour {
    light: (u8, u8, u8),
    dark: (u8, u8, u8),
}

/// The sign on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// How a runtime is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colour: Colour,
    pub(crate) mark: Mark,
}

const MARKS: [Mark; 5] = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Cross];

const fn colour(light: (u8, u8, u8), dark: (u8, u8, u8)) -> Colour {
    Colour { light, dark }
}

const BLUES: [Colour; 5] = [
    colour((0, 95, 170), (77, 171, 247)),
    colour((60, 160, 220), (150, 210, 250)),
    colour((30, 60, 140), (110, 140, 255)),
    colour((100, 120, 200), (170, 180, 255)),
    colour((0, 70, 110), (120, 225, 245)),
];

/// After Okabe and Ito, and Tol's muted scheme, without their blues and yellows.
const OTHERS: [Colour; 11] = [
    colour((213, 94, 0), (255, 140, 60)),
    colour((0, 140, 105), (50, 200, 160)),
    colour((190, 90, 145), (235, 150, 195)),
    colour((200, 135, 0), (240, 185, 60)),
    colour((136, 34, 85), (220, 110, 165)),
    colour((125, 125, 30), (200, 200, 100)),
    colour((20, 110, 50), (110, 190, 130)),
    colour((165, 65, 155), (210, 130, 205)),
    colour((110, 75, 45), (200, 160, 120)),
    colour((115, 115, 120), (175, 175, 180)),
    colour((75, 75, 80), (135, 135, 140)),
];

/// Text and axes; lines behind the figures.
pub(crate) const INK: Colour = colour((34, 34, 34), (225, 225, 228));
pub(crate) const GRID: Colour = colour((222, 222, 226), (66, 68, 74));

impl Colour {
    pub(crate) const fn rgb(self) -> RGBColor {
        let (red, green, blue) = self.light;
        RGBColor(red, green, blue)
    }

    /// As SVG has it.
    pub(crate) fn name(self) -> String {
        hex(self.light)
    }
}

/// In capitals, as the charts are written.
fn hex((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

pub(crate) fn look(runtime: RuntimeId) -> Look {
    let place =
        RuntimeId::ALL.iter().filter(|other| other.is_hive() == runtime.is_hive()).position(|other| *other == runtime);
    let place = place.unwrap_or(0);
    let colours: &[Colour] = if runtime.is_hive() { &BLUES } else { &OTHERS };
    // hive has the circle; where the colours begin again, the marks are others.
    let first = usize::from(!runtime.is_hive());
    Look { colour: colours[place % colours.len()], mark: MARKS[(first + place + place / colours.len()) % MARKS.len()] }
}

/// Rules that give every chart its dark colours. Printed pages are light.
pub(crate) fn dark_rules() -> String {
    let mut rules = "@media screen and (prefers-color-scheme: dark) {\n".to_owned();
    for colour in BLUES.iter().chain(&OTHERS).chain([&INK, &GRID]) {
        let (light, dark) = (colour.name(), hex(colour.dark));
        let _ =
            writeln!(rules, "svg [fill=\"{light}\"] {{ fill: {dark} }} svg [stroke=\"{light}\"] {{ stroke: {dark} }}");
    }
    rules + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_runtimes_look_alike() {
        for (place, one) in RuntimeId::ALL.iter().enumerate() {
            for other in &RuntimeId::ALL[place + 1..] {
                assert_ne!(look(*one), look(*other), "{one:?} {other:?}");
            }
        }
    }

    /// By the rule that WCAG gives for parts of graphics.
    #[test]
    fn colours_stand_out_from_their_ground() {
        let light = |(red, green, blue): (u8, u8, u8)| {
            let linear = |part: u8| (f64::from(part) / 255.0).powf(2.2);
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let contrast = |a, b| (f64::max(light(a), light(b)) + 0.05) / (f64::min(light(a), light(b)) + 0.05);
        for colour in BLUES.iter().chain(&OTHERS).chain([&INK]) {
            assert!(contrast(colour.light, (255, 255, 255)) > 2.8, "{colour:?}");
            assert!(contrast(colour.dark, (24, 26, 31)) > 2.8, "{colour:?}");
        }
    }
}
