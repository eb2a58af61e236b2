//! A default does not pass the validator.
//! at: #[attr(default = 10, validate(range(30..)))]
//! says: the default does not pass the validator `range`
//! remedy: change the default or the validator, so that they agree
#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(default = 10, validate(range(30..)))]
    timeout: i64,
}
