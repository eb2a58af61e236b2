//! Differences between values whose attributes and elements are defined by a schema or a type.

use std::collections::BTreeMap;

use wardian_plugin::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use wardian_value::{Str, Type, Value, View};

use super::alignment::{align, identities, match_sets};
use super::{BlockGroup, Content, Difference, Effect, Forcing, Secrecy, Sides, UNKNOWN, dynamic, keys};

/// Returns the difference between two objects of a resource type.
pub(in crate::render) fn of_block<'a>(
    sides: Sides<'a>,
    block: &'a Block,
    forcing: &Forcing<'a>,
) -> Difference<'a> {
    let sides = sides.without_nulls();
    let (before, after) = sides.secrecy(false);
    let shown = revealed_block(sides, block, forcing);
    if before || after {
        return secret_block(before, after, shown);
    }
    shown
}

fn secret_block(before: bool, after: bool, shown: Difference<'_>) -> Difference<'_> {
    let secrecy = Secrecy { before, after, inner: shown.effect };
    Difference { effect: secrecy.effect(), content: Content::SensitiveBlock(secrecy), ..shown }
}

fn revealed_block<'a>(sides: Sides<'a>, block: &'a Block, forcing: &Forcing<'a>) -> Difference<'a> {
    if sides.after_is_unknown() {
        return unknown(sides, forcing, |sides| block_parts(sides, block, &Forcing::default()));
    }
    block_parts(sides, block, forcing)
}

/// Returns the difference for an unknown value that replaces an existing value, or that is shown
/// unchanged, as in the configuration of an action. The named parts of the unknown value are also unknown.
fn unknown<'a>(
    sides: Sides<'a>,
    forcing: &Forcing<'a>,
    parts: impl FnOnce(Sides<'a>) -> Difference<'a>,
) -> Difference<'a> {
    let effect = effect_of_unknown(sides);
    let before = sides.before.filter(|value| value.is_known() && !value.is_null());
    let before = before.map(|before| Box::new(parts(Sides::new(Some(before), None))));
    Difference { effect, replace: forcing.here(), content: Content::Unknown(before) }
}

fn effect_of_unknown(sides: Sides<'_>) -> Effect {
    match sides.before {
        Some(before) if !before.is_known() => Effect::None,
        Some(before) if !before.is_null() => Effect::Update,
        _ => Effect::Create,
    }
}

/// Returns a named part of both sides. The parts of an unknown value are unknown.
fn part<'a>(sides: Sides<'a>, name: &str) -> Sides<'a> {
    let part = sides.map(|value| if value.is_known() { value.get(name) } else { Some(&UNKNOWN) });
    part.without_nulls()
}

fn block_parts<'a>(sides: Sides<'a>, block: &'a Block, forcing: &Forcing<'a>) -> Difference<'a> {
    let mut effect = sides.effect();
    let attributes = of_attributes(sides, &block.attributes, forcing, &mut effect);
    let mut groups = Vec::with_capacity(block.block_types.len());
    for (name, nested) in &block.block_types {
        let sides = part(sides, name);
        if sides.is_empty() {
            continue;
        }
        let forcing = forcing.name(name);
        let blocks = of_blocks(sides, nested, &forcing);
        for (_, block) in &blocks {
            effect = effect.with_part(block.effect);
        }
        groups.push(BlockGroup { name, replace: forcing.here(), blocks });
    }
    Difference { effect, replace: forcing.here(), content: Content::Block { attributes, groups } }
}

fn of_blocks<'a>(
    sides: Sides<'a>,
    nested: &'a NestedBlock,
    forcing: &Forcing<'a>,
) -> Vec<(Option<&'a str>, Difference<'a>)> {
    if sides.after_is_unknown() {
        // The new number of blocks is unknown; the existing blocks are shown as removed.
        let coming =
            Difference { effect: effect_of_unknown(sides), replace: false, content: Content::Unknown(None) };
        let going = of_blocks(sides.only_before(), nested, forcing);
        let going = going.into_iter().filter(|_| sides.before.is_some());
        return std::iter::once((None, coming)).chain(going).collect();
    }
    let block = &nested.block;
    let mut blocks: Vec<(Option<&'a str>, Difference<'a>)> = match nested.nesting {
        BlockNesting::Single | BlockNesting::Group => vec![(None, of_block(sides, block, forcing))],
        BlockNesting::List => by_place(sides)
            .map(|(index, sides)| (None, of_block(sides, block, &forcing.index(index))))
            .collect(),
        BlockNesting::Set => {
            by_content(sides).map(|sides| (None, of_block(sides, block, &Forcing::default()))).collect()
        }
        BlockNesting::Map => keys(sides)
            .into_iter()
            .map(|key| (Some(key), of_block(part(sides, key), block, &forcing.name(key))))
            .collect(),
    };
    let (before, after) = sides.secrecy(false);
    let is_collection = !matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group);
    if is_collection && (before || after) {
        blocks =
            blocks.into_iter().map(|(label, block)| (label, secret_block(before, after, block))).collect();
    }
    blocks
}

fn of_attributes<'a>(
    sides: Sides<'a>,
    attributes: &'a BTreeMap<Str, Attribute>,
    forcing: &Forcing<'a>,
    effect: &mut Effect,
) -> Vec<(&'a str, Difference<'a>)> {
    let mut differences = Vec::with_capacity(attributes.len());
    for (name, attribute) in attributes {
        let forcing = forcing.name(name);
        if attribute.write_only {
            // The value is never stored, so a change cannot be detected.
            let replace = forcing.here();
            let effect = match sides.effect() {
                Effect::None if replace => Effect::Update,
                effect => effect,
            };
            differences.push((&**name, Difference { effect, replace, content: Content::WriteOnly }));
            continue;
        }
        let sides = part(sides, name);
        if sides.is_empty() {
            continue;
        }
        let difference = of_attribute(sides, attribute, &forcing);
        *effect = effect.with_part(difference.effect);
        differences.push((&**name, difference));
    }
    differences
}

fn of_attribute<'a>(sides: Sides<'a>, attribute: &'a Attribute, forcing: &Forcing<'a>) -> Difference<'a> {
    let (before, after) = sides.secrecy(attribute.sensitive);
    let shown = match &attribute.ty {
        AttributeType::Value(ty) => revealed(sides, ty, forcing),
        AttributeType::Nested(nested) => revealed_nested(sides, nested, forcing),
    };
    if before || after { secret(before, after, shown) } else { shown }
}

fn secret(before: bool, after: bool, shown: Difference<'_>) -> Difference<'_> {
    let secrecy = Secrecy { before, after, inner: shown.effect };
    Difference { effect: secrecy.effect(), content: Content::Sensitive(secrecy), ..shown }
}

fn revealed_nested<'a>(sides: Sides<'a>, nested: &'a NestedObject, forcing: &Forcing<'a>) -> Difference<'a> {
    if sides.after_is_unknown() {
        return unknown(sides, forcing, |sides| match nested.nesting {
            ObjectNesting::Single => {
                let sides = Sides::new(sides.before, Some(&UNKNOWN));
                nested_object(sides, &nested.attributes, &Forcing::default())
            }
            _ => nested_parts(sides, nested, &Forcing::default()),
        });
    }
    nested_parts(sides, nested, forcing)
}

fn nested_parts<'a>(sides: Sides<'a>, nested: &'a NestedObject, forcing: &Forcing<'a>) -> Difference<'a> {
    let element = |sides: Sides<'a>, forcing: &Forcing<'a>| {
        let (before, after) = sides.secrecy(false);
        let shown = if sides.after_is_unknown() {
            unknown(sides, forcing, |sides| nested_object(sides, &nested.attributes, &Forcing::default()))
        } else {
            nested_object(sides, &nested.attributes, forcing)
        };
        if before || after { secret(before, after, shown) } else { shown }
    };
    let mut effect = sides.effect();
    let mut count = |difference: Difference<'a>| {
        effect = effect.with_part(difference.effect);
        difference
    };
    let content = match nested.nesting {
        ObjectNesting::Single => return nested_object(sides, &nested.attributes, forcing),
        ObjectNesting::List => Content::List {
            elements: by_place(sides)
                .map(|(index, sides)| count(element(sides, &forcing.index(index))))
                .collect(),
            neighbours: false,
        },
        ObjectNesting::Set => Content::Set {
            elements: by_content(sides).map(|sides| count(element(sides, &Forcing::default()))).collect(),
            nested: true,
        },
        ObjectNesting::Map => Content::Map {
            elements: keys(sides)
                .into_iter()
                .map(|key| (key, count(element(sides.map(|value| value.get(key)), &forcing.name(key)))))
                .collect(),
            nested: true,
        },
    };
    Difference { effect, replace: forcing.here(), content }
}

fn nested_object<'a>(
    sides: Sides<'a>,
    attributes: &'a BTreeMap<Str, Attribute>,
    forcing: &Forcing<'a>,
) -> Difference<'a> {
    let sides = sides.without_nulls();
    let mut effect = sides.effect();
    let attributes = of_attributes(sides, attributes, forcing, &mut effect);
    Difference { effect, replace: forcing.here(), content: Content::Object { attributes, nested: true } }
}

/// Returns the difference between two values of a type.
pub(in crate::render) fn of_type<'a>(
    sides: Sides<'a>,
    ty: &'a Type,
    forcing: &Forcing<'a>,
) -> Difference<'a> {
    let (before, after) = sides.secrecy(false);
    let shown = revealed(sides, ty, forcing);
    if before || after { secret(before, after, shown) } else { shown }
}

fn revealed<'a>(sides: Sides<'a>, ty: &'a Type, forcing: &Forcing<'a>) -> Difference<'a> {
    if sides.after_is_unknown() {
        return unknown(sides, forcing, |sides| revealed(sides, ty, &Forcing::default()));
    }
    let compound = sides.without_nulls();
    if compound.is_empty() || ty.is_primitive() {
        return sides.scalar(forcing.here());
    }
    if !fits(compound.before, ty) || !fits(compound.after, ty) {
        return dynamic::revealed(sides);
    }
    let mut effect = compound.effect();
    let mut count = |difference: Difference<'a>| {
        effect = effect.with_part(difference.effect);
        difference
    };
    let content = match ty {
        Type::Object(object) => Content::Object {
            attributes: object
                .iter()
                .map(|(name, ty)| (name, part(compound, name), ty))
                .filter(|(_, sides, _)| !sides.is_empty())
                .map(|(name, sides, ty)| (&**name, count(of_type(sides, ty, &forcing.name(name)))))
                .collect(),
            nested: false,
        },
        Type::Map(element) => Content::Map {
            elements: keys(compound)
                .into_iter()
                .map(|key| {
                    let sides = compound.map(|value| value.get(key));
                    (key, count(of_type(sides, element, &forcing.name(key))))
                })
                .collect(),
            nested: false,
        },
        Type::Set(element) => Content::Set {
            elements: by_content(compound)
                .map(|sides| count(of_type(sides, element, &Forcing::default())))
                .collect(),
            nested: false,
        },
        Type::List(element) => {
            let (before, after) = compound.sequences();
            let is_object = matches!(**element, Type::Object(_));
            let pairs = align(&identities(before), &identities(after), |_, _| is_object);
            let elements = pairs.into_iter().map(|(i, j)| {
                let sides = Sides::new(i.and_then(|i| before.get(i)), j.and_then(|j| after.get(j)));
                let forcing = forcing.index(i.or(j).unwrap_or_default());
                count(of_type(sides, element, &forcing))
            });
            Content::List { elements: elements.collect(), neighbours: true }
        }
        Type::Tuple(types) => Content::List {
            elements: by_place(compound)
                .map(|(index, sides)| {
                    let ty = types.get(index).unwrap_or(&Type::Dynamic);
                    count(of_type(sides, ty, &forcing.index(index)))
                })
                .collect(),
            neighbours: true,
        },
        Type::Dynamic | Type::Bool | Type::Number | Type::String => return dynamic::revealed(sides),
    };
    Difference { effect, replace: forcing.here(), content }
}

/// Returns whether a value is of the kind that a type requires. Absent values are treated as if
/// they were.
fn fits(side: Option<&Value>, ty: &Type) -> bool {
    side.is_none_or(|value| match ty {
        Type::Object(_) | Type::Map(_) => matches!(value.view(), View::Object(_) | View::Map(_)),
        Type::List(_) | Type::Set(_) | Type::Tuple(_) => value.as_elements().is_some(),
        _ => false,
    })
}

/// Returns pairs of the elements that have the same index on both sides.
fn by_place(sides: Sides<'_>) -> impl Iterator<Item = (usize, Sides<'_>)> {
    let (before, after) = sides.sequences();
    (0..before.len().max(after.len())).map(move |at| (at, Sides::new(before.get(at), after.get(at))))
}

/// Returns pairs of equal elements of two sets, and the elements that are in only one of the sets.
fn by_content(sides: Sides<'_>) -> impl Iterator<Item = Sides<'_>> {
    let (before, after) = sides.sequences();
    match_sets(before, after)
        .into_iter()
        .map(move |(i, j)| Sides::new(i.and_then(|i| before.get(i)), j.and_then(|j| after.get(j))))
}
