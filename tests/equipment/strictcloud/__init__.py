"""moto's server made strict: what AWS does and moto leaves out. moto is no AWS, and neither is this."""

from tests.equipment.strictcloud.cloud import StrictCloud

__all__ = ["StrictCloud"]
