"""What another limit of batched tokens would change for a server: what its steps cost, and its requests scheduled anew."""
