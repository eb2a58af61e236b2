//! A validator checks another type than the field has, which only the compiler knows.
//! at: name: Name
//! says: a validator of the field cannot check a value of type
//! remedy: `range` is for numbers, `length` and formats are for strings
type Name = String;

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(validate(range(30..)))]
    name: Name,
}
