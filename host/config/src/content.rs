//! Shapes of bodies.
