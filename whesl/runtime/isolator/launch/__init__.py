"""From ``whesl exec`` to a running attempt: options, rules, keeper, runner."""
