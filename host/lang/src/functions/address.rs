//! The functions that operate on IP networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use num_bigint::{BigInt, Sign};
use wardian_value::{Type, Value};

use super::{Body, Failure, Function, Outcome, ResultType};
use super::{number, string, text, whole};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "cidrhost",
        &[string("prefix"), number("hostnum")],
        ResultType::String,
        Body::Pure(cidrhost),
    ),
    Function::new(
        "cidrcontains",
        &[string("containing_prefix"), string("contained_ip_or_prefix")],
        ResultType::Bool,
        Body::Pure(cidrcontains),
    ),
    Function::new("cidrnetmask", &[string("prefix")], ResultType::String, Body::Pure(cidrnetmask)),
    Function::new(
        "cidrsubnet",
        &[string("prefix"), number("newbits"), number("netnum")],
        ResultType::String,
        Body::Pure(cidrsubnet),
    ),
    Function::new("cidrsubnets", &[string("prefix")], ResultType::ListOfString, Body::Pure(cidrsubnets))
        .variadic(number("newbits")),
];

/// Maximum number of bits by which `cidrsubnets` extends a prefix.
const MAX_NEW_BITS: i64 = 32;

/// A network, represented by the address whose host bits are zero. IPv4 addresses are in the low
/// bits.
#[derive(Clone, Copy)]
struct Network {
    address: u128,
    prefix: u32,
    /// The address length in bits: 32 or 128.
    bits: u32,
}

impl Network {
    fn parse(source: &str, position: usize) -> Result<Self, Failure> {
        let invalid =
            || Failure::argument(position, format!("{source:?} is not a network such as 10.0.0.0/8"));
        let (address, prefix) = source.split_once('/').ok_or_else(invalid)?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let prefix: u32 = prefix.parse().map_err(|_| invalid())?;
        let (address, bits) = match parse_address(address).ok_or_else(invalid)? {
            IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        if prefix > bits {
            return Err(invalid());
        }
        let host = host_mask(bits - prefix);
        Ok(Self { address: address & !host, prefix, bits })
    }

    fn show(self, address: u128) -> String {
        if self.bits == 32 {
            Ipv4Addr::from(u32::try_from(address & u128::from(u32::MAX)).unwrap_or(0)).to_string()
        } else {
            Ipv6Addr::from(address).to_string()
        }
    }
}

/// Parses an address. Octets of IPv4 addresses are decimal even if they have leading zeros.
fn parse_address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse().ok();
    }
    let octets: Vec<&str> = text
        .split('.')
        .map(|octet| if octet.len() > 1 { octet.trim_start_matches('0') } else { octet })
        .map(|octet| if octet.is_empty() { "0" } else { octet })
        .collect();
    if text.split('.').any(str::is_empty) {
        return None;
    }
    octets.join(".").parse().ok()
}

fn host_mask(bits: u32) -> u128 {
    match bits {
        0 => 0,
        bits => u128::MAX >> (128 - bits),
    }
}

fn big(arguments: &[Value], position: usize) -> Result<BigInt, Failure> {
    arguments
        .get(position)
        .and_then(Value::as_number)
        .and_then(|number| number.to_string().parse().ok())
        .ok_or_else(|| Failure::argument(position, "a whole number is required"))
}

/// Returns the lowest 64 bits of a number, without its sign. Terraform compares only these bits with
/// the size of a network.
fn lowest_bits(number: &BigInt) -> u64 {
    number.magnitude().iter_u64_digits().next().unwrap_or(0)
}

/// Returns an address as a number; `None` if it has more bits than the addresses of the network.
fn in_network(network: Network, address: &BigInt) -> Option<u128> {
    let fits = address.magnitude().bits() <= u64::from(network.bits);
    u128::try_from(address.magnitude()).ok().filter(|_| fits)
}

fn cidrhost(arguments: &[Value]) -> Outcome {
    let network = Network::parse(text(arguments, 0), 0)?;
    let wanted = big(arguments, 1)?;
    let last = (BigInt::from(1) << (network.bits - network.prefix)) - 1_u8;
    let (host, distance) = if wanted.sign() == Sign::Minus {
        // Negative numbers count from the end.
        let distance = -&wanted - 1_u8;
        (&last - &distance, distance)
    } else {
        (wanted.clone(), BigInt::from(lowest_bits(&wanted).cast_signed()))
    };
    let address = (distance <= last).then(|| BigInt::from(network.address) | host);
    match address.and_then(|address| in_network(network, &address)) {
        Some(address) => Ok(Value::string(network.show(address))),
        None => Err(Failure::argument(
            1,
            format!("a prefix of {} bits does not accommodate a host numbered {wanted}", network.prefix),
        )),
    }
}

fn cidrcontains(arguments: &[Value]) -> Outcome {
    let network = Network::parse(text(arguments, 0), 0)?;
    let contained = text(arguments, 1);
    // A single address is a network of one address.
    let contained = match parse_address(contained) {
        Some(IpAddr::V4(_)) => Network::parse(&format!("{contained}/32"), 1)?,
        Some(IpAddr::V6(_)) => Network::parse(&format!("{contained}/128"), 1)?,
        None => Network::parse(contained, 1)?,
    };
    if network.bits != contained.bits {
        return Err(Failure::call("one address is IPv4, and the other is IPv6"));
    }
    let outside = !host_mask(network.bits - network.prefix);
    let inside = contained.prefix >= network.prefix && contained.address & outside == network.address;
    Ok(Value::bool(inside))
}

fn cidrnetmask(arguments: &[Value]) -> Outcome {
    let network = Network::parse(text(arguments, 0), 0)?;
    if network.bits != 32 {
        return Err(Failure::argument(0, "IPv6 networks have no netmask"));
    }
    Ok(Value::string(network.show(!host_mask(32 - network.prefix))))
}

fn extended(network: Network, newbits: i64, position: usize) -> Result<u32, Failure> {
    u32::try_from(newbits)
        .ok()
        .and_then(|newbits| network.prefix.checked_add(newbits))
        .filter(|prefix| *prefix <= network.bits)
        .ok_or_else(|| cannot_extend(network, newbits, position))
}

fn cannot_extend(network: Network, newbits: i64, position: usize) -> Failure {
    let reason = format!("a prefix of {} bits cannot be extended by {newbits}", network.prefix);
    Failure::argument(position, reason)
}

fn cidrsubnet(arguments: &[Value]) -> Outcome {
    let network = Network::parse(text(arguments, 0), 0)?;
    let newbits = whole(arguments, 1)?;
    let number = big(arguments, 2)?;
    let prefix = i64::from(network.prefix).saturating_add(newbits);
    if prefix > i64::from(network.bits) {
        return Err(cannot_extend(network, newbits, 1));
    }
    let too_large = || {
        let reason = format!("{newbits} more bits are not enough for a subnet numbered {number}");
        Failure::argument(2, reason)
    };
    // If the prefix is shortened, or extended by 64 bits or more, the subnet numbers are not
    // limited.
    let last = u32::try_from(newbits).ok().and_then(|bits| 1_u64.checked_shl(bits)).unwrap_or(0);
    if lowest_bits(&number) > last.wrapping_sub(1) {
        return Err(too_large());
    }
    let Ok(prefix) = u32::try_from(prefix) else {
        // This is Terraform's result for a prefix of less than 0 bits.
        return if number.sign() == Sign::NoSign { Ok(Value::string("<nil>")) } else { Err(too_large()) };
    };
    let address = BigInt::from(network.address) | (&number << (network.bits - prefix));
    let address = in_network(network, &address).ok_or_else(too_large)?;
    Ok(Value::string(format!("{}/{prefix}", network.show(address))))
}

fn cidrsubnets(arguments: &[Value]) -> Outcome {
    let network = Network::parse(text(arguments, 0), 0)?;
    if network.address == 0 && arguments.len() > 1 {
        // As in Terraform, which starts to count at the preceding address.
        return Err(Failure::argument(
            0,
            "a network whose first address is 0 cannot be divided into subnets",
        ));
    }
    let end = BigInt::from(network.address) + (BigInt::from(1) << (network.bits - network.prefix));
    let mut next = BigInt::from(network.address);
    let mut subnets = Vec::new();
    for position in 1..arguments.len() {
        let newbits = whole(arguments, position)?;
        if newbits < 1 {
            return Err(Failure::argument(position, "the prefix must be extended by at least 1 bit"));
        }
        if newbits > MAX_NEW_BITS {
            let reason = format!("the prefix cannot be extended by more than {MAX_NEW_BITS} bits");
            return Err(Failure::argument(position, reason));
        }
        let prefix = extended(network, newbits, position)?;
        let size = BigInt::from(1) << (network.bits - prefix);
        // The next address at which such a subnet can start.
        let start = (&next + &size - 1) / &size * &size;
        next = &start + &size;
        let Some(address) = u128::try_from(start).ok().filter(|_| next <= end) else {
            return Err(Failure::argument(
                position,
                format!("not enough addresses are left for a subnet with a prefix of {prefix} bits"),
            ));
        };
        subnets.push(Value::string(format!("{}/{prefix}", network.show(address))));
    }
    Ok(Value::list(Type::String, subnets))
}
