//! The names that resolved to an address.
//!
//! A program that opens connections itself contacts addresses. A connection to an address to which a
//! granted name has resolved counts as a connection to that name.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use wardian_access::Host;

/// Maximum number of addresses whose names are stored.
const MAX_ADDRESSES: usize = 1_000;
/// Maximum number of stored names per address.
const MAX_NAMES: usize = 8;

/// Resolved names, by address. When it is full, the oldest entry is removed.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    names: HashMap<IpAddr, VecDeque<Host>>,
    /// The addresses, in the order in which they were added.
    order: VecDeque<IpAddr>,
}

impl KnownNames {
    /// Records that a name resolved to these addresses.
    pub fn remember(&mut self, name: &Host, addresses: &[IpAddr]) {
        for address in addresses {
            let address = address.to_canonical();
            if !self.names.contains_key(&address) {
                if self.order.len() >= MAX_ADDRESSES
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.names.remove(&oldest);
                }
                self.order.push_back(address);
            }
            let names = self.names.entry(address).or_default();
            names.retain(|known| known != name);
            if names.len() >= MAX_NAMES {
                names.pop_front();
            }
            names.push_back(name.clone());
        }
    }

    /// Returns the names that resolved to an address, in the order of their last lookups.
    pub fn of_address(&self, address: IpAddr) -> impl DoubleEndedIterator<Item = &Host> {
        self.names.get(&address.to_canonical()).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lookup_comes_last_and_the_number_of_entries_is_limited() {
        let host = |text: &str| Host::parse(text).unwrap();
        let address = |last: u32| IpAddr::from(std::net::Ipv4Addr::from_bits(0x0a00_0000 + last));
        let mut known = KnownNames::default();
        let names = |known: &KnownNames, one| -> Vec<String> {
            known.of_address(one).map(ToString::to_string).collect()
        };
        known.remember(&host("a.example"), &[address(1), address(2)]);
        known.remember(&host("b.example"), &[address(1)]);
        known.remember(&host("a.example"), &["::ffff:10.0.0.1".parse().unwrap()]);
        assert_eq!(names(&known, address(1)), ["b.example", "a.example"]);
        assert_eq!(names(&known, address(2)), ["a.example"]);
        assert!(names(&known, address(3)).is_empty());
        for number in 0..20 {
            known.remember(&host(&format!("{number}.example")), &[address(1)]);
        }
        assert_eq!(names(&known, address(1)).len(), MAX_NAMES);
        for last in 10..2_000 {
            known.remember(&host("c.example"), &[address(last)]);
        }
        assert_eq!((known.names.len(), known.order.len()), (MAX_ADDRESSES, MAX_ADDRESSES));
        assert!(names(&known, address(1)).is_empty() && !names(&known, address(1_999)).is_empty());
    }
}
