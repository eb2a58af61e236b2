//! Downloads for the host: requests that Wardian itself sends, not its plugins.
