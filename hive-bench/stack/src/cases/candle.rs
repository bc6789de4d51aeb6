//! candle's pool by itself, three of its kernels, and a step of a small transformer with random weights.

use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::{Run, numbers};

/// One call of the pool that does next to nothing. The size does not matter.
pub(super) fn execute(_: usize) -> Run {
    let calls = AtomicUsize::new(0);
    Box::new(move || {
        candle_core::utils::barrier_pool().execute(|number| {
            if number == 0 {
                calls.store(1, Ordering::Relaxed);
            }
        });
        calls.load(Ordering::Relaxed) as f64
    })
}

pub(super) fn matmul(rows: usize) -> Run {
    let matrix = random(&[rows, rows]);
    checked(move || matrix.matmul(&matrix))
}

/// A vector times a matrix of weights in eight bits, as a step of a language model has many of.
pub(super) fn quantized(rows: usize) -> Run {
    let (weights, vector) = (weights(rows, rows), random(&[1, rows]));
    checked(move || weights.forward(&vector))
}

pub(super) fn softmax(rows: usize) -> Run {
    let matrix = random(&[rows, rows]);
    checked(move || softmax_last_dim(&matrix))
}

/// One token through a transformer of that width, four layers deep, which attends to 128 tokens before it.
pub(super) fn decode(width: usize) -> Run {
    let layers: Vec<Layer> = (0..4).map(|_| Layer::new(width)).collect();
    let token = random(&[1, width]);
    checked(move || layers.iter().try_fold(token.clone(), |token, layer| layer.forward(&token)))
}

const HEADS: usize = 4;
const TOKENS: usize = 128;

struct Layer {
    query: QMatMul,
    output: QMatMul,
    up: QMatMul,
    down: QMatMul,
    /// `[HEADS, width of a head, TOKENS]`
    keys: Tensor,
    /// `[HEADS, TOKENS, width of a head]`
    values: Tensor,
}

impl Layer {
    fn new(width: usize) -> Layer {
        let head = width / HEADS;
        Layer {
            query: weights(width, width),
            output: weights(width, width),
            up: weights(4 * width, width),
            down: weights(width, 4 * width),
            keys: random(&[HEADS, head, TOKENS]),
            values: random(&[HEADS, TOKENS, head]),
        }
    }

    fn forward(&self, token: &Tensor) -> Result<Tensor> {
        let width = token.dim(D::Minus1)?;
        let query = self.query.forward(token)?.reshape((HEADS, 1, width / HEADS))?;
        let attention = softmax_last_dim(&query.matmul(&self.keys)?)?;
        let mixed = attention.matmul(&self.values)?.reshape((1, width))?;
        let token = (token + self.output.forward(&mixed)?)?;
        &token + self.down.forward(&self.up.forward(&token)?.relu()?)?
    }
}

/// A matrix of weights in eight bits.
fn weights(rows: usize, columns: usize) -> QMatMul {
    let quantized = QTensor::quantize(&random(&[rows, columns]), GgmlDType::Q8_0).expect("rows of whole blocks");
    QMatMul::from_qtensor(quantized).expect("a matrix")
}

fn random(shape: &[usize]) -> Tensor {
    let mut draw = numbers();
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| draw() as f32).collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).expect("as many numbers as the shape has")
}

/// The case that calculates that, and adds up one row of it.
fn checked(calculate: impl Fn() -> Result<Tensor> + 'static) -> Run {
    Box::new(move || {
        let result = calculate().expect("the shapes fit");
        let row = result.narrow(0, 0, 1).and_then(|row| row.flatten_all()?.to_vec1::<f32>()).expect("a row of f32");
        row.into_iter().map(f64::from).sum()
    })
}
