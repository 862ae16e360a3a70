//! What the module exports. There are few functions, and all of them take and return numbers.
//!
//! | function | what it does |
//! |---|---|
//! | `room(length)` | makes room for what the caller passes next, and returns its address |
//! | `create(size)` | registers a file of `size` bytes, and returns its number |
//! | `supply(file, offset)` | takes the bytes in the room as those at `offset` of the file |
//! | `front(file, offset)` | the same, for bytes that came with the size: they are kept as structures |
//! | `whole()` | registers a file whose bytes are those in the room, and returns its number |
//! | `call()` | answers the request in the room, as JSON: 0 done, 1 bytes are missing, 2 an error |
//! | `answer()`, `answer_length()` | where the answer is, as JSON |
//! | `data()`, `data_length()` | where the elements of the answer are |
//! | `close(file)` | forgets a file |
//!
//! Sizes and offsets are numbers of JavaScript, which are exact up to 2^53.
//!
//! The names are exported from the module only. In a program on a computer they would take the places of functions of
//! the C library, such as `close`.

use std::cell::RefCell;

use crate::session::{Answer, Session};

thread_local! {
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SESSION: RefCell<Session> = const { RefCell::new(Session::new()) };
    static ANSWER: RefCell<Answer> = const { RefCell::new(Answer::empty()) };
}

/// The largest number of JavaScript below which all whole numbers are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a size or an offset as an integer.
fn exact(number: f64) -> u64 {
    if (0.0..=EXACT).contains(&number) { number as u64 } else { 0 }
}

fn take_room() -> Vec<u8> {
    ROOM.take()
}

/// Makes room for `length` bytes, and returns where it begins.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn room(length: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        // Fresh memory is zero already, while `resize` would write each byte.
        *room = vec![0; length];
        room.as_mut_ptr()
    })
}

/// Registers a file.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn create(size: f64) -> u32 {
    SESSION.with_borrow_mut(|session| session.create(exact(size)))
}

/// Supplies bytes that a request asked for.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn supply(file: u32, offset: f64) {
    SESSION.with_borrow(|session| session.supply(file, exact(offset), take_room()));
}

/// Supplies bytes that came with the size.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn front(file: u32, offset: f64) {
    SESSION.with_borrow(|session| session.front(file, exact(offset), &take_room()));
}

/// Registers a file whose bytes are all here.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn whole() -> u32 {
    SESSION.with_borrow_mut(|session| session.whole(take_room()))
}

/// Forgets a file.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn close(file: u32) {
    SESSION.with_borrow_mut(|session| session.close(file));
}

/// Answers the request in the room.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn call() -> u32 {
    let request = take_room();
    // The answer before this one is dropped first, so that two large ones are never held together.
    ANSWER.replace(Answer::empty());
    let (status, answer) = SESSION.with_borrow_mut(|session| session.call(&request));
    ANSWER.replace(answer);
    status
}

/// Returns where the answer is.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.json.as_ptr())
}

/// Returns how long the answer is.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(|answer| answer.json.len())
}

/// Returns where the elements of the answer are.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn data() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.data.as_ptr())
}

/// Returns how many bytes the elements of the answer have.
// SAFETY: no other function of this name is linked.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn data_length() -> usize {
    ANSWER.with_borrow(|answer| answer.data.len())
}
