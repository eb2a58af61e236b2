//! Plans a resource from the proposed new state.
//!
//! The steps are: set defaults; set write-only values to null; keep the prior spelling of values that
//! are semantically equal to the configuration; if the result differs from the prior
//! state, set every computed attribute that is null in the configuration to unknown; apply the
//! attributes' plan modifiers, first the modifiers of an attribute, then the modifiers of the
//! attributes nested in it. (The resource's own `modify_plan` is called after these steps.) These
//! steps do not apply to a destroy.

use wardian_value::{Path, Type, Value, View};

use crate::modifier::{AttributePlan, Roots};
use crate::schema::{Attribute, Block, BlockNesting, DefaultValue, Nesting, Root, Shape};
use crate::{Diagnostics, Object, Schema};

pub(crate) struct Planned {
    pub(crate) value: Value,
    pub(crate) requires_replace: Vec<Path>,
    pub(crate) diagnostics: Diagnostics,
}

/// Plans a create (`prior` null) or an update.
pub(crate) fn plan(schema: &Schema, config: &Value, prior: &Value, proposed: Value) -> Planned {
    let root = &schema.root;
    let mut defaults = Defaults { schema, config, diagnostics: Diagnostics::new() };
    let mut planned = walk(root, config, prior, proposed, &mut defaults);
    planned = walk(root, config, prior, planned, &mut WithoutWriteOnly);
    if has_equality(root) {
        planned = walk(root, config, prior, planned, &mut KeepSpelling);
    }
    if planned != *prior {
        planned = walk(root, config, prior, planned, &mut MarkUnknown);
    }
    let roots = Roots { config: config.clone(), prior: prior.clone(), planned: planned.clone() };
    let mut modify =
        Modify { roots: &roots, requires_replace: Vec::new(), diagnostics: defaults.diagnostics };
    let value = walk(root, config, prior, planned, &mut modify);
    Planned { value, requires_replace: modify.requires_replace, diagnostics: modify.diagnostics }
}

fn walk(root: &Root, config: &Value, prior: &Value, planned: Value, visit: &mut dyn Visit) -> Value {
    let mut position = Position { path: Path::root(), in_set: 0 };
    contents(root, &Counterparts { config, prior }, planned, &mut position, visit)
}

/// An operation on each attribute and block.
trait Visit {
    fn attribute(
        &mut self,
        attribute: &Attribute,
        counterparts: &Counterparts<'_>,
        planned: Value,
        path: &Path,
    ) -> Value;

    fn block(&mut self, block: &Block, counterparts: &Counterparts<'_>, planned: &Value, path: &Path) {
        let _ = (block, counterparts, planned, path);
    }
}

/// Returns a configuration with the default values of attributes that it does not set.
pub(crate) fn with_defaults(schema: &Schema, config: &Value) -> crate::Result<Value> {
    let mut defaults = Defaults { schema, config, diagnostics: Diagnostics::new() };
    let prior = Value::null(config.ty().clone());
    let value = walk(&schema.root, config, &prior, config.clone(), &mut defaults);
    defaults.diagnostics.into_result().map(|()| value)
}

/// Returns a new state with the spelling of an earlier state or of a plan, if the values of an
/// attribute are semantically equal.
pub(crate) fn keep_spelling(schema: &Schema, earlier: &Value, new: Value) -> Value {
    if earlier.is_null() || !has_equality(&schema.root) {
        return new;
    }
    walk(&schema.root, earlier, earlier, new, &mut KeepSpelling)
}

fn has_equality(root: &Root) -> bool {
    fn in_attributes(attributes: &[Attribute]) -> bool {
        attributes.iter().any(|attribute| match &attribute.shape {
            Shape::Nested(_, inner) => in_attributes(inner),
            Shape::Value(_) => attribute.equality.is_some(),
        })
    }
    in_attributes(&root.attributes) || root.blocks.iter().any(|block| has_equality(&block.contents))
}

struct KeepSpelling;

impl Visit for KeepSpelling {
    fn attribute(
        &mut self,
        attribute: &Attribute,
        counterparts: &Counterparts<'_>,
        planned: Value,
        _: &Path,
    ) -> Value {
        let (Some(are_equal), prior) = (&attribute.equality, counterparts.prior) else { return planned };
        let is_other = prior.is_wholly_known() && planned.is_wholly_known() && planned != *prior;
        if is_other && are_equal(prior, &planned) { prior.clone() } else { planned }
    }
}

struct Defaults<'a> {
    schema: &'a Schema,
    config: &'a Value,
    diagnostics: Diagnostics,
}

impl Visit for Defaults<'_> {
    fn attribute(
        &mut self,
        attribute: &Attribute,
        counterparts: &Counterparts<'_>,
        planned: Value,
        path: &Path,
    ) -> Value {
        match &attribute.default {
            Some(DefaultValue::Static(default)) if counterparts.config.is_null() => default.clone(),
            Some(DefaultValue::Computed(compute)) if counterparts.config.is_null() => {
                let config = Object::new(self.config.clone(), self.schema.ty());
                compute(&config, &attribute.ty()).unwrap_or_else(|errors| {
                    self.diagnostics.append(errors.at_if_without_path(path));
                    planned
                })
            }
            _ => planned,
        }
    }
}

struct WithoutWriteOnly;

impl Visit for WithoutWriteOnly {
    fn attribute(&mut self, attribute: &Attribute, _: &Counterparts<'_>, planned: Value, _: &Path) -> Value {
        if attribute.write_only { Value::null(planned.ty().clone()) } else { planned }
    }
}

struct MarkUnknown;

impl Visit for MarkUnknown {
    fn attribute(
        &mut self,
        attribute: &Attribute,
        counterparts: &Counterparts<'_>,
        planned: Value,
        _: &Path,
    ) -> Value {
        if attribute.computed && attribute.default.is_none() && counterparts.config.is_null() {
            Value::unknown(attribute.ty())
        } else {
            planned
        }
    }
}

struct Modify<'a> {
    roots: &'a Roots,
    requires_replace: Vec<Path>,
    diagnostics: Diagnostics,
}

impl Visit for Modify<'_> {
    fn attribute(
        &mut self,
        attribute: &Attribute,
        counterparts: &Counterparts<'_>,
        planned: Value,
        path: &Path,
    ) -> Value {
        if attribute.modifiers.is_empty() {
            return planned;
        }
        let mut change = AttributePlan {
            path,
            config: counterparts.config,
            prior: counterparts.prior,
            planned,
            roots: self.roots,
            requires_replace: false,
        };
        for modifier in &attribute.modifiers {
            if let Err(errors) = modifier.run(&mut change) {
                self.diagnostics.append(errors);
            }
        }
        if change.requires_replace {
            self.requires_replace.push(path.clone());
        }
        change.planned
    }

    fn block(&mut self, block: &Block, counterparts: &Counterparts<'_>, planned: &Value, path: &Path) {
        if block.force_new && !self.roots.prior.is_null() && counterparts.prior != planned {
            self.requires_replace.push(path.clone());
        }
    }
}

/// The configuration and the prior state that correspond to a planned value; null if they do not
/// contain a corresponding value.
struct Counterparts<'a> {
    config: &'a Value,
    prior: &'a Value,
}

/// The position of the walk. Paths end at the outermost set.
struct Position {
    path: Path,
    in_set: usize,
}

impl Position {
    fn inside<T>(&mut self, step: Option<wardian_value::PathStep>, walk: impl FnOnce(&mut Self) -> T) -> T {
        match step {
            Some(step) if self.in_set == 0 => {
                self.path.push(step);
                let result = walk(self);
                self.path.pop();
                result
            }
            Some(_) => walk(self),
            None => {
                self.in_set += 1;
                let result = walk(self);
                self.in_set -= 1;
                result
            }
        }
    }
}

fn part(value: &Value, name: &str, ty: impl FnOnce() -> Type) -> Value {
    value.get(name).cloned().unwrap_or_else(|| Value::null(ty()))
}

fn contents(
    root: &Root,
    counterparts: &Counterparts<'_>,
    planned: Value,
    position: &mut Position,
    visit: &mut dyn Visit,
) -> Value {
    let Some(parts) = planned.as_mapping() else { return planned };
    let mut parts = parts.to_map();
    attributes(&root.attributes, counterparts, &mut parts, position, visit);
    for block in &root.blocks {
        let Some(planned) = parts.get(block.name.as_str()).cloned() else { continue };
        let config = part(counterparts.config, &block.name, || planned.ty().clone());
        let prior = part(counterparts.prior, &block.name, || planned.ty().clone());
        let counterparts = Counterparts { config: &config, prior: &prior };
        let name = wardian_value::Str::new(&block.name);
        let step = wardian_value::PathStep::Attribute(name.clone());
        let value = position.inside(Some(step), |position| {
            visit.block(block, &counterparts, &planned, &position.path);
            let single = matches!(block.nesting, BlockNesting::Single | BlockNesting::Group);
            each(single, &counterparts, planned, position, &mut |counterparts, planned, position| {
                contents(&block.contents, counterparts, planned, position, visit)
            })
        });
        parts.insert(name, value);
    }
    Value::object(parts)
}

type Parts = std::collections::BTreeMap<wardian_value::Str, Value>;

fn attributes(
    attributes: &[Attribute],
    counterparts: &Counterparts<'_>,
    parts: &mut Parts,
    position: &mut Position,
    visit: &mut dyn Visit,
) {
    for attribute in attributes {
        let Some(planned) = parts.get(attribute.name.as_str()).cloned() else { continue };
        let config = part(counterparts.config, &attribute.name, || attribute.ty());
        let prior = part(counterparts.prior, &attribute.name, || attribute.ty());
        let counterparts = Counterparts { config: &config, prior: &prior };
        let name = wardian_value::Str::new(&attribute.name);
        let step = wardian_value::PathStep::Attribute(name.clone());
        let value = position.inside(Some(step), |position| {
            let planned = visit.attribute(attribute, &counterparts, planned, &position.path);
            nested(attribute, &counterparts, planned, position, visit)
        });
        parts.insert(name, value);
    }
}

fn nested(
    attribute: &Attribute,
    counterparts: &Counterparts<'_>,
    planned: Value,
    position: &mut Position,
    visit: &mut dyn Visit,
) -> Value {
    let Shape::Nested(nesting, inner) = &attribute.shape else { return planned };
    each(
        *nesting == Nesting::Single,
        counterparts,
        planned,
        position,
        &mut |counterparts, planned, position| {
            let Some(parts) = planned.as_mapping() else { return planned };
            let mut parts = parts.to_map();
            attributes(inner, counterparts, &mut parts, position, visit);
            Value::object(parts)
        },
    )
}

/// Calls `change` for each object of a nested attribute or block.
fn each(
    single: bool,
    counterparts: &Counterparts<'_>,
    planned: Value,
    position: &mut Position,
    change: &mut dyn FnMut(&Counterparts<'_>, Value, &mut Position) -> Value,
) -> Value {
    use wardian_value::PathStep;

    if single {
        return change(counterparts, planned, position);
    }
    let nothing = Value::null(Type::Dynamic);
    let element_type = planned.ty().element().cloned();
    match planned.view() {
        View::List(elements) | View::Tuple(elements) => {
            let at = |side: &Value, index: usize| {
                side.as_elements().and_then(|all| all.get(index)).cloned().unwrap_or_else(|| nothing.clone())
            };
            let changed: Vec<Value> = elements
                .iter()
                .enumerate()
                .map(|(index, element)| {
                    let (config, prior) = (at(counterparts.config, index), at(counterparts.prior, index));
                    let counterparts = Counterparts { config: &config, prior: &prior };
                    let step = PathStep::Index(index as u64);
                    position.inside(Some(step), |position| change(&counterparts, element.clone(), position))
                })
                .collect();
            match element_type {
                Some(ty) => Value::list(ty, changed),
                None => Value::tuple(changed),
            }
        }
        View::Map(elements) | View::Object(elements) => {
            let at = |side: &Value, key: &str| side.get(key).cloned().unwrap_or_else(|| nothing.clone());
            let changed: Vec<_> = elements
                .iter()
                .map(|(key, element)| {
                    let (config, prior) = (at(counterparts.config, key), at(counterparts.prior, key));
                    let counterparts = Counterparts { config: &config, prior: &prior };
                    let step = PathStep::Key(key.clone());
                    (
                        key.clone(),
                        position
                            .inside(Some(step), |position| change(&counterparts, element.clone(), position)),
                    )
                })
                .collect();
            match element_type {
                Some(ty) => Value::map(ty, changed),
                None => Value::object(changed),
            }
        }
        View::Set(elements) => {
            let mut configs = Unpaired::new(counterparts.config);
            let mut priors = Unpaired::new(counterparts.prior);
            let changed: Vec<Value> = elements
                .iter()
                .map(|element| {
                    let config = configs.take(|config| matches_config(element, config));
                    let prior =
                        priors.take(|prior| config.as_ref().is_some_and(|c| matches_config(prior, c)));
                    let (config, prior) =
                        (config.unwrap_or_else(|| nothing.clone()), prior.unwrap_or_else(|| nothing.clone()));
                    let counterparts = Counterparts { config: &config, prior: &prior };
                    position.inside(None, |position| change(&counterparts, element.clone(), position))
                })
                .collect();
            Value::set(element_type.unwrap_or(Type::Dynamic), changed)
        }
        _ => planned,
    }
}

/// Elements of a set that have not been paired with another element yet.
struct Unpaired(Vec<Option<Value>>);

impl Unpaired {
    fn new(set: &Value) -> Self {
        Self(set.as_elements().unwrap_or_default().iter().cloned().map(Some).collect())
    }

    fn take(&mut self, matches: impl Fn(&Value) -> bool) -> Option<Value> {
        let position = self.0.iter().position(|one| one.as_ref().is_some_and(&matches))?;
        self.0[position].take()
    }
}

/// Returns whether an object can result from a configuration: all values that the configuration
/// sets are equal.
fn matches_config(object: &Value, config: &Value) -> bool {
    match (object.view(), config.view()) {
        (_, View::Null) => true,
        (View::Object(parts), View::Object(configured)) => configured
            .iter()
            .all(|(name, config)| parts.get(name).is_some_and(|part| matches_config(part, config))),
        _ => object == config,
    }
}
