//! The sandbox with real components in it, most of them hostile.

mod answers;
mod cache;
mod guest;
mod harm;
mod load;
mod pool;
mod reach;
mod schema;
