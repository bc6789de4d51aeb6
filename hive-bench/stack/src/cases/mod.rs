//! What is measured, by library.

mod candle;
mod faer;
mod ndarray;

pub(crate) use faer::set_threads;

/// A function that runs a case once and returns a number that depends on the result.
pub(crate) type Run = Box<dyn Fn() -> f64>;

/// All cases: the name, and what prepares it for a size, which is the number of rows of square matrices.
pub(crate) const ALL: [(&str, fn(usize) -> Run); 12] = [
    ("qr", faer::qr),
    ("lu", faer::lu),
    ("cholesky", faer::cholesky),
    ("svd", faer::svd),
    ("evd", faer::evd),
    ("matmul", faer::matmul),
    ("ndarray-dot", ndarray::dot),
    ("candle-execute", candle::execute),
    ("candle-matmul", candle::matmul),
    ("candle-quantized", candle::quantized),
    ("candle-softmax", candle::softmax),
    ("candle-decode", candle::decode),
];

/// Numbers from -0.5 to 0.5 that look random and are the same in every run.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}
