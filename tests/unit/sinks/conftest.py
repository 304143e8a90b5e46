"""A real embedded catalog in a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from lakeward.catalogs.open import open_catalog
from lakeward.catalogs.warehouse import create_warehouse, embedded_catalog
from lakeward.model.spec import CatalogSpec


@pytest.fixture
def catalog_spec(tmp_path: Path) -> CatalogSpec:
    create_warehouse(tmp_path / "catalog.db", tmp_path / "warehouse")
    return embedded_catalog("kafkawarehouse", tmp_path / "catalog.db", tmp_path / "warehouse")


@pytest.fixture
def catalog(catalog_spec: CatalogSpec) -> Catalog:
    return open_catalog(catalog_spec)
