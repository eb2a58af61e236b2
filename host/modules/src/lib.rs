//! Installs modules from the sources that configurations name.
