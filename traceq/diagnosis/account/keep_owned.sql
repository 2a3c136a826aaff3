-- Keep the share $part of what a claim owns of a category: what the lines of the account are made of.
update owned_piece set owned = owned * $part where claim = $claim and cause = $cause
