//! Writes images into a folder: PNG files that are not compressed at all, so that there is something to optimise. Each
//! has colours that change slowly, some noise, and some flat areas.

use std::path::Path;

const IMAGES: u32 = 6;
const WIDTH: u32 = 320;
const HEIGHT: u32 = 240;

fn main() {
    let folder = std::env::args().nth(1).expect("usage: make-images FOLDER");
    for image in 0..IMAGES {
        let path = Path::new(&folder).join(format!("image-{image}.png"));
        std::fs::write(&path, png(image)).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// The file: its signature and three chunks.
fn png(image: u32) -> Vec<u8> {
    let mut file = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    let mut header = Vec::new();
    header.extend(WIDTH.to_be_bytes());
    header.extend(HEIGHT.to_be_bytes());
    // Eight bits for each of three colours; the only methods that there are; not interlaced.
    header.extend([8, 2, 0, 0, 0]);
    add_chunk(&mut file, b"IHDR", &header);
    add_chunk(&mut file, b"IDAT", &zlib(&rows(image)));
    add_chunk(&mut file, b"IEND", &[]);
    file
}

/// The rows, each with the number of its filter (none) before it.
fn rows(image: u32) -> Vec<u8> {
    let mut noise = image + 1;
    let mut bytes = Vec::new();
    for y in 0..HEIGHT {
        bytes.push(0);
        for x in 0..WIDTH {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let flat = (x / 40 + y / 40 + image) % 3 == 0;
            let grain = if flat { 0 } else { (noise >> 24) % (2 + image) };
            bytes.extend([x + grain, y + grain, if flat { 200 } else { (x * y) >> 8 }].map(|colour| colour as u8));
        }
    }
    bytes
}

/// A chunk: length, kind, data, checksum.
fn add_chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend(u32::try_from(data.len()).expect("a small image").to_be_bytes());
    let begin = file.len();
    file.extend(kind);
    file.extend(data);
    let checksum = crc32(&file[begin..]);
    file.extend(checksum.to_be_bytes());
}

/// A zlib stream of stored blocks.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = data.chunks(65_535);
    let last = blocks.len() - 1;
    for (number, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).expect("the length of a block");
        stream.push(u8::from(number == last));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |checksum, byte| {
        (0..8).fold(checksum ^ u32::from(*byte), |checksum, _| {
            (checksum >> 1) ^ (0xedb8_8320 & (checksum & 1).wrapping_neg())
        })
    })
}
