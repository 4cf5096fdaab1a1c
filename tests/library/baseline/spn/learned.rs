//! Learned networks.
