//! The type of a computed attribute is an alias of a type without null.
//! at: id: Id
//! says: the field `id` must represent null
//! remedy: use `Option<_>`
type Id = String;

#[derive(Serialize, Deserialize, Schema)]
struct Server {
    #[attr(computed)]
    id: Id,
}
