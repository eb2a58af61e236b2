//! Clients of Terraform's registry protocols.
