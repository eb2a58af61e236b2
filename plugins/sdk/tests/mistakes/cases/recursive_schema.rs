//! A schema contains itself through another struct.
//! at: nothing
//! says: cycle detected
//! says: children: Vec<Child>
//! says: parents: Vec<Parent>
//! documented: limit the depth, or use `Dynamic`
#[derive(Serialize, Deserialize, Schema)]
struct Parent {
    children: Vec<Child>,
}

#[derive(Serialize, Deserialize, Schema)]
struct Child {
    parents: Vec<Parent>,
}
