//! The function of a custom validator checks another type.
//! at: custom(is_even)
//! says: mismatched types
//! says: expected `&i64`, found `&String`
//! says: function defined here
//! documented: a function `fn(&T) -> Result<(), impl Display>`
fn is_even(number: &i64) -> std::result::Result<(), &'static str> {
    if number % 2 == 0 { Ok(()) } else { Err("must be even") }
}

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(validate(custom(is_even)))]
    name: String,
}
