//! The Mandelbrot set: some rows of the image take a hundred times as long as others, so the next row goes to whichever
//! bee is free.
//!
//!     cargo run --release --example mandelbrot [-- --compare]

mod compare;

use hive::Schedule;
use rayon::prelude::*;

const HEIGHT: usize = if cfg!(debug_assertions) { 100 } else { 400 };
const WIDTH: usize = HEIGHT * 3 / 2;
const MOST_STEPS: u16 = 500;

/// How many steps each point of row `y` takes to escape.
fn draw(y: usize, row: &mut [u16]) {
    let imaginary = (y as f64 + 0.5) / HEIGHT as f64 * 2.0 - 1.0;
    for (x, pixel) in row.iter_mut().enumerate() {
        let real = (x as f64 + 0.5) / WIDTH as f64 * 3.0 - 2.0;
        let (mut re, mut im, mut steps) = (0.0_f64, 0.0_f64, 0);
        while steps < MOST_STEPS && re * re + im * im < 4.0 {
            (re, im) = (re * re - im * im + real, 2.0 * re * im + imaginary);
            steps += 1;
        }
        *pixel = steps;
    }
}

fn alone(image: &mut [u16]) {
    image.chunks_exact_mut(WIDTH).enumerate().for_each(|(y, row)| draw(y, row));
}

fn by_hive(image: &mut [u16]) {
    hive::par_rows_mut(image, WIDTH, Schedule::Dynamic(1), |rows, part, _| {
        rows.zip(part.chunks_exact_mut(WIDTH)).for_each(|(y, row)| draw(y, row));
    });
}

fn by_rayon(image: &mut [u16]) {
    image.par_chunks_exact_mut(WIDTH).enumerate().for_each(|(y, row)| draw(y, row));
}

fn main() {
    let [mut expected, mut image, mut other] = [(); 3].map(|()| vec![0; WIDTH * HEIGHT]);
    alone(&mut expected);
    by_hive(&mut image);
    by_rayon(&mut other);
    assert!(image == expected && other == expected);
    let inside = image.iter().filter(|steps| **steps == MOST_STEPS).count();
    let area = 6.0 * inside as f64 / image.len() as f64;
    println!("drawn by {} bees: the set has an area of about {area:.3}", hive::bees());
    assert!((area - 1.507).abs() < 0.05);
    if compare::wanted() {
        compare::compare(
            "Mandelbrot",
            &mut [
                ("one thread", &mut || alone(&mut expected)),
                ("Rayon", &mut || by_rayon(&mut other)),
                ("hive", &mut || by_hive(&mut image)),
            ],
        );
    }
}
