//! A method of an attribute's builder is misspelt.
//! at: Attribute::string("name").requird()
//! says: no method named `requird` found
//! remedy: there is a method `required` with a similar name
fn schema() -> Schema {
    Schema::new().attribute(Attribute::string("name").requird())
}
