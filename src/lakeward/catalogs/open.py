"""Open an Iceberg catalog by its specification."""

from __future__ import annotations

from pyiceberg.catalog import Catalog, load_catalog

from lakeward.errors import DestinationUnavailable
from lakeward.model.spec import CatalogSpec


def open_catalog(spec: CatalogSpec) -> Catalog:
    """Open the catalog, or say that it cannot be reached."""
    try:
        return load_catalog(spec.name, **spec.properties)
    except Exception as failure:
        raise DestinationUnavailable(
            f"The catalog {spec.name!r} cannot be opened: {failure}",
            where=str(spec.properties.get("uri", "")),
            next_step="Check the catalog's settings and that its folder can be written.",
        ) from failure
