//! How a plan is made of what the host proposes.
//!
//! In this order: defaults; write-only values become null; if anything then
//! differs from the prior state, every computed attribute that the configuration
//! leaves null becomes unknown; the attributes' plan modifiers, those of a nested
//! attribute before those of its parts. (The resource's own `modify_plan` comes
//! after that.) A destroy has no such plan.

use wardian_value::{Path, Type, Value, View};

use crate::modifier::{AttributeChange, Roots};
use crate::schema::{Attribute, Block, BlockNesting, Nesting, Root, Shape};
use crate::{Diagnostics, Schema};

pub(crate) struct Planned {
    pub(crate) value: Value,
    pub(crate) requires_replace: Vec<Path>,
    pub(crate) diagnostics: Diagnostics,
}

/// Plans a create (`prior` null) or an update.
pub(crate) fn plan(schema: &Schema, config: &Value, prior: &Value, proposed: Value) -> Planned {
    let root = &schema.root;
    let mut planned = walk(root, config, prior, proposed, &mut Defaults);
    planned = walk(root, config, prior, planned, &mut WithoutWriteOnly);
    if planned != *prior {
        planned = walk(root, config, prior, planned, &mut MarkUnknown);
    }
    let roots = Roots { config: config.clone(), prior: prior.clone(), planned: planned.clone() };
    let mut modify = Modify { roots: &roots, requires_replace: Vec::new(), diagnostics: Diagnostics::new() };
    let value = walk(root, config, prior, planned, &mut modify);
    Planned { value, requires_replace: modify.requires_replace, diagnostics: modify.diagnostics }
}

fn walk(root: &Root, config: &Value, prior: &Value, planned: Value, visit: &mut dyn Visit) -> Value {
    let mut place = Place { path: Path::root(), in_set: 0 };
    contents(root, &Sides { config, prior }, planned, &mut place, visit)
}

/// What is done at each attribute and block.
trait Visit {
    fn attribute(&mut self, attribute: &Attribute, sides: &Sides<'_>, planned: Value, path: &Path) -> Value;

    fn block(&mut self, block: &Block, sides: &Sides<'_>, planned: &Value, path: &Path) {
        let _ = (block, sides, planned, path);
    }
}

struct Defaults;

impl Visit for Defaults {
    fn attribute(&mut self, attribute: &Attribute, sides: &Sides<'_>, planned: Value, _: &Path) -> Value {
        match &attribute.default {
            Some(default) if sides.config.is_null() => default.clone(),
            _ => planned,
        }
    }
}

struct WithoutWriteOnly;

impl Visit for WithoutWriteOnly {
    fn attribute(&mut self, attribute: &Attribute, _: &Sides<'_>, planned: Value, _: &Path) -> Value {
        if attribute.write_only { Value::null(planned.ty().clone()) } else { planned }
    }
}

struct MarkUnknown;

impl Visit for MarkUnknown {
    fn attribute(&mut self, attribute: &Attribute, sides: &Sides<'_>, planned: Value, _: &Path) -> Value {
        if attribute.computed && attribute.default.is_none() && sides.config.is_null() {
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
    fn attribute(&mut self, attribute: &Attribute, sides: &Sides<'_>, planned: Value, path: &Path) -> Value {
        if attribute.modifiers.is_empty() {
            return planned;
        }
        let mut change = AttributeChange {
            path,
            config: sides.config,
            prior: sides.prior,
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

    fn block(&mut self, block: &Block, sides: &Sides<'_>, planned: &Value, path: &Path) {
        if block.force_new && !self.roots.prior.is_null() && sides.prior != planned {
            self.requires_replace.push(path.clone());
        }
    }
}

/// The configuration and the prior state at the place of a planned value; null
/// where they have nothing there.
struct Sides<'a> {
    config: &'a Value,
    prior: &'a Value,
}

/// Where the walk is. Paths stop at the outermost set.
struct Place {
    path: Path,
    in_set: usize,
}

impl Place {
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
    sides: &Sides<'_>,
    planned: Value,
    place: &mut Place,
    visit: &mut dyn Visit,
) -> Value {
    let Some(parts) = planned.as_mapping() else { return planned };
    let mut parts = parts.clone();
    attributes(&root.attributes, sides, &mut parts, place, visit);
    for block in &root.blocks {
        let Some(planned) = parts.get(block.name.as_str()).cloned() else { continue };
        let config = part(sides.config, &block.name, || planned.ty().clone());
        let prior = part(sides.prior, &block.name, || planned.ty().clone());
        let sides = Sides { config: &config, prior: &prior };
        let name = wardian_value::Str::new(&block.name);
        let step = wardian_value::PathStep::Attribute(name.clone());
        let value = place.inside(Some(step), |place| {
            visit.block(block, &sides, &planned, &place.path);
            let single = matches!(block.nesting, BlockNesting::Single | BlockNesting::Group);
            each(single, &sides, planned, place, &mut |sides, planned, place| {
                contents(&block.contents, sides, planned, place, visit)
            })
        });
        parts.insert(name, value);
    }
    Value::object(parts)
}

type Parts = std::collections::BTreeMap<wardian_value::Str, Value>;

fn attributes(
    attributes: &[Attribute],
    sides: &Sides<'_>,
    parts: &mut Parts,
    place: &mut Place,
    visit: &mut dyn Visit,
) {
    for attribute in attributes {
        let Some(planned) = parts.get(attribute.name.as_str()).cloned() else { continue };
        let config = part(sides.config, &attribute.name, || attribute.ty());
        let prior = part(sides.prior, &attribute.name, || attribute.ty());
        let sides = Sides { config: &config, prior: &prior };
        let name = wardian_value::Str::new(&attribute.name);
        let step = wardian_value::PathStep::Attribute(name.clone());
        let value = place.inside(Some(step), |place| {
            let planned = visit.attribute(attribute, &sides, planned, &place.path);
            nested(attribute, &sides, planned, place, visit)
        });
        parts.insert(name, value);
    }
}

fn nested(
    attribute: &Attribute,
    sides: &Sides<'_>,
    planned: Value,
    place: &mut Place,
    visit: &mut dyn Visit,
) -> Value {
    let Shape::Nested(nesting, inner) = &attribute.shape else { return planned };
    each(*nesting == Nesting::Single, sides, planned, place, &mut |sides, planned, place| {
        let Some(parts) = planned.as_mapping() else { return planned };
        let mut parts = parts.clone();
        attributes(inner, sides, &mut parts, place, visit);
        Value::object(parts)
    })
}

/// Goes through the objects of a nested attribute or block.
fn each(
    single: bool,
    sides: &Sides<'_>,
    planned: Value,
    place: &mut Place,
    change: &mut dyn FnMut(&Sides<'_>, Value, &mut Place) -> Value,
) -> Value {
    use wardian_value::PathStep;

    if single {
        return change(sides, planned, place);
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
                    let (config, prior) = (at(sides.config, index), at(sides.prior, index));
                    let sides = Sides { config: &config, prior: &prior };
                    let step = PathStep::Index(index as u64);
                    place.inside(Some(step), |place| change(&sides, element.clone(), place))
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
                    let (config, prior) = (at(sides.config, key), at(sides.prior, key));
                    let sides = Sides { config: &config, prior: &prior };
                    let step = PathStep::Key(key.clone());
                    (key.clone(), place.inside(Some(step), |place| change(&sides, element.clone(), place)))
                })
                .collect();
            match element_type {
                Some(ty) => Value::map(ty, changed),
                None => Value::object(changed),
            }
        }
        View::Set(elements) => {
            let mut configs = Unpaired::of(sides.config);
            let mut priors = Unpaired::of(sides.prior);
            let changed: Vec<Value> = elements
                .iter()
                .map(|element| {
                    let config = configs.take(|config| came_from(element, config));
                    let prior = priors.take(|prior| config.as_ref().is_some_and(|c| came_from(prior, c)));
                    let (config, prior) =
                        (config.unwrap_or_else(|| nothing.clone()), prior.unwrap_or_else(|| nothing.clone()));
                    let sides = Sides { config: &config, prior: &prior };
                    place.inside(None, |place| change(&sides, element.clone(), place))
                })
                .collect();
            Value::set(element_type.unwrap_or(Type::Dynamic), changed)
        }
        _ => planned,
    }
}

/// Elements of a set that no other element was paired with yet.
struct Unpaired(Vec<Option<Value>>);

impl Unpaired {
    fn of(set: &Value) -> Self {
        Self(set.as_elements().unwrap_or_default().iter().cloned().map(Some).collect())
    }

    fn take(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let place = self.0.iter().position(|one| one.as_ref().is_some_and(&fits))?;
        self.0[place].take()
    }
}

/// Whether an object may be what became of a configuration: all that the
/// configuration sets is the same.
fn came_from(object: &Value, config: &Value) -> bool {
    match (object.view(), config.view()) {
        (_, View::Null) => true,
        (View::Object(parts), View::Object(configured)) => configured
            .iter()
            .all(|(name, config)| parts.get(name).is_some_and(|part| came_from(part, config))),
        _ => object == config,
    }
}
