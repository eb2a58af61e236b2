//! Compares a schema with a Rust type, by decoding sample values: one in which every value is known,
//! and one for each value that can be null.

use wardian_value::{Type, Value};

use crate::model::ModelError;
use crate::schema::{Attribute, Block, BlockNesting, DefaultValue, Nesting, Root, Shape};

/// A mistake: the path of the attribute or block, and its description.
pub(super) struct Misfit {
    pub(super) path: String,
    pub(super) problem: String,
}

/// Decodes a sample as a Rust type.
type Decode<'a> = dyn Fn(&Value) -> Option<ModelError> + 'a;

/// Returns the attributes and blocks whose values the Rust type cannot represent. The number of
/// samples is the number of attributes and blocks, so the cost is quadratic in the schema's size.
pub(super) fn misfits(root: &Root, decode: &Decode<'_>) -> Vec<Misfit> {
    let mut samples = Samples { null_at: None, spots: 0, null_path: None };
    let known = samples.contents(root, "");
    if let Some(error) = decode(&known) {
        // Other errors are about the sample, such as a string that is not a variant of an enum.
        return if error.is_type_mismatch() {
            vec![Misfit { path: error.path().to_string(), problem: error.message().to_owned() }]
        } else {
            Vec::new()
        };
    }
    let mut misfits = Vec::new();
    for spot in 0..samples.spots {
        let mut samples = Samples { null_at: Some(spot), spots: 0, null_path: None };
        let sample = samples.contents(root, "");
        let Some(error) = decode(&sample).filter(ModelError::is_type_mismatch) else { continue };
        misfits.push(Misfit {
            path: samples.null_path.unwrap_or_else(|| error.path().to_string()),
            problem: "the value can be null, which the type of the field cannot represent: use `Option<_>`"
                .to_owned(),
        });
    }
    misfits
}

struct Samples {
    /// The number of the value that is null.
    null_at: Option<usize>,
    /// The number of values so far that can be null.
    spots: usize,
    null_path: Option<String>,
}

impl Samples {
    fn contents(&mut self, root: &Root, path: &str) -> Value {
        let mut parts: Vec<(&str, Value)> =
            root.attributes.iter().map(|one| (one.name(), self.attribute(one, path))).collect();
        for block in &root.blocks {
            parts.push((block.name.as_str(), self.block(block, path)));
        }
        Value::object(parts)
    }

    /// Counts a value that can be null, and returns whether it is null in this sample.
    fn is_null(&mut self, path: &str) -> bool {
        let is_null = self.null_at == Some(self.spots);
        self.spots += 1;
        if is_null {
            self.null_path = Some(path.to_owned());
        }
        is_null
    }

    fn attribute(&mut self, attribute: &Attribute, path: &str) -> Value {
        let path = format!("{path}.{}", attribute.name());
        if attribute.write_only {
            return Value::null(attribute.ty());
        }
        let has_default = matches!(attribute.default, Some(DefaultValue::Static(_)));
        if !attribute.required && !has_default && self.is_null(&path) {
            return Value::null(attribute.ty());
        }
        match &attribute.shape {
            Shape::Value(ty) => sample(ty),
            Shape::Nested(nesting, inner) => {
                let parts: Vec<(&str, Value)> =
                    inner.iter().map(|one| (one.name(), self.attribute(one, &path))).collect();
                let object = Value::object(parts);
                let ty = object.ty().clone();
                match nesting {
                    Nesting::Single => object,
                    Nesting::List => Value::list(ty, [object]),
                    Nesting::Set => Value::set(ty, [object]),
                    Nesting::Map => Value::map(ty, [("sample".into(), object)]),
                }
            }
        }
    }

    fn block(&mut self, block: &Block, path: &str) -> Value {
        let path = format!("{path}.{}", block.name);
        if block.nesting == BlockNesting::Single && block.min == 0 && self.is_null(&path) {
            return Value::null(block.contents.ty());
        }
        let object = self.contents(&block.contents, &path);
        let ty = block.contents.ty();
        match block.nesting {
            BlockNesting::Single | BlockNesting::Group => object,
            BlockNesting::Set => Value::set(ty, [object]),
            BlockNesting::List if ty.has_dynamic() => Value::tuple([object]),
            BlockNesting::List => Value::list(ty, [object]),
            BlockNesting::Map if ty.has_dynamic() => Value::object([("sample", object)]),
            BlockNesting::Map => Value::map(ty, [("sample".into(), object)]),
        }
    }
}

/// Returns a known value of a type.
fn sample(ty: &Type) -> Value {
    match ty {
        Type::Bool => Value::bool(true),
        Type::Number => Value::number(1),
        Type::String | Type::Dynamic => Value::string("sample"),
        Type::List(element) => Value::list((**element).clone(), [sample(element)]),
        Type::Set(element) => Value::set((**element).clone(), [sample(element)]),
        Type::Map(element) => Value::map((**element).clone(), [("sample".into(), sample(element))]),
        Type::Tuple(types) => Value::tuple(types.iter().map(sample)),
        Type::Object(object) => Value::object(object.iter().map(|(name, ty)| (name.clone(), sample(ty)))),
    }
}
