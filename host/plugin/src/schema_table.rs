//! Tables of schemas by name. Each schema is decoded on first use.
//!
//! A large provider has more than a thousand types, but a run uses only a few of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use wardian_value::Str;

use crate::schema::Schema;

/// A provider's schemas of one kind, such as the schemas of its resource types.
#[derive(Clone, Default)]
pub struct SchemaTable {
    schemas: BTreeMap<Str, OnceLock<Arc<Schema>>>,
    source: Option<Arc<dyn SchemaSource>>,
}

/// The source of the schemas that have not been decoded yet.
pub trait SchemaSource: Send + Sync {
    /// Returns the schema for a name in the table; `None` if it cannot be decoded, in which case
    /// the name is treated as absent. The source reports the reason.
    fn schema(&self, name: &str) -> Option<Arc<Schema>>;
}

impl SchemaTable {
    /// Creates a table with the given names.
    pub fn new(names: impl IntoIterator<Item = Str>, source: Arc<dyn SchemaSource>) -> Self {
        let schemas = names.into_iter().map(|name| (name, OnceLock::new())).collect();
        Self { schemas, source: Some(source) }
    }

    /// Returns the schema for a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Schema>> {
        let cell = self.schemas.get(name)?;
        if let Some(known) = cell.get() {
            return Some(known);
        }
        let schema = self.source.as_ref()?.schema(name)?;
        Some(cell.get_or_init(|| schema))
    }

    /// Whether the table has a schema with this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    /// Returns the names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Str> {
        self.schemas.keys()
    }

    /// Returns all schemas, sorted by name. This decodes all of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &Arc<Schema>)> {
        self.schemas.keys().filter_map(|name| Some((name, self.get(name)?)))
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }

    /// Returns the number of schemas.
    pub fn len(&self) -> usize {
        self.schemas.len()
    }
}

impl FromIterator<(Str, Arc<Schema>)> for SchemaTable {
    fn from_iter<I: IntoIterator<Item = (Str, Arc<Schema>)>>(schemas: I) -> Self {
        let schemas = schemas.into_iter().map(|(name, schema)| (name, OnceLock::from(schema))).collect();
        Self { schemas, source: None }
    }
}

impl From<BTreeMap<Str, Arc<Schema>>> for SchemaTable {
    fn from(schemas: BTreeMap<Str, Arc<Schema>>) -> Self {
        schemas.into_iter().collect()
    }
}

impl<const N: usize> From<[(Str, Arc<Schema>); N]> for SchemaTable {
    fn from(schemas: [(Str, Arc<Schema>); N]) -> Self {
        schemas.into_iter().collect()
    }
}

/// Formats only the names, to avoid decoding for debug output.
impl fmt::Debug for SchemaTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemas.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::schema::Block;

    #[derive(Default)]
    struct Counting(Mutex<Vec<String>>);

    impl SchemaSource for Counting {
        fn schema(&self, name: &str) -> Option<Arc<Schema>> {
            self.0.lock().unwrap().push(name.to_owned());
            (name != "broken").then(|| Arc::new(Schema::new(7, Block::default())))
        }
    }

    #[test]
    fn only_requested_schemas_are_decoded_and_only_once() {
        let source = Arc::new(Counting::default());
        let table = SchemaTable::new(["a".into(), "b".into(), "broken".into()], source.clone());
        assert_eq!(table.keys().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "broken"]);
        assert!(table.contains_key("b") && !table.contains_key("c"));
        assert_eq!(table.get("b").map(|schema| schema.version), Some(7));
        assert!(table.get("b").is_some() && table.get("c").is_none() && table.get("broken").is_none());
        assert_eq!(*source.0.lock().unwrap(), ["b", "broken"]);
        assert_eq!(table.iter().count(), 2);
    }
}
