#![allow(unused)]
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wardian_sdk::*;
