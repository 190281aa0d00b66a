"""What Superset does with a database, by its own code: metadata, the data of a chart, a price.

It runs in the environment of Superset, with a folder and the address of the database.
"""

import json
import os
import sys
from pathlib import Path

QUERY = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def said(clinic):
    """Return what Superset finds out."""
    from superset.sql.parse import Table  # noqa: PLC0415

    spec, visits = clinic.db_engine_spec, Table("visits", "public")
    with clinic.get_sqla_engine() as engine, engine.connect() as db:
        alive = engine.dialect.do_ping(db.connection.dbapi_connection)
    frame = clinic.get_df(QUERY, schema="public")
    columns = clinic.get_columns(visits)
    return {
        "spec": spec.engine_name,
        "alive": alive,
        "schemas": sorted(clinic.get_all_schema_names()),
        "tables": [each[0] for each in clinic.get_all_table_names_in_schema(None, "public")],
        "views": list(clinic.get_all_view_names_in_schema(None, "public")),
        "comment": clinic.get_table_comment(visits),
        "columns": [
            [c["column_name"], str(c["type"]), c["nullable"], c["comment"]] for c in columns
        ],
        "keys": [clinic.get_pk_constraint(visits), clinic.get_foreign_keys(visits)],
        "frame": [list(frame.columns), list(frame["ward"])],
        "price": spec.estimate_query_cost(clinic, None, "public", f"{QUERY} HAVING COUNT(*) > 0"),
    }


def main(home, url):
    """Start Superset without a server, and connect."""
    config = home / "superset_config.py"
    config.write_text(
        f"SECRET_KEY, SQLALCHEMY_DATABASE_URI = 'of a test', 'sqlite:///{home}/superset.db'\n"
    )
    os.environ |= {"SUPERSET_CONFIG_PATH": str(config), "SUPERSET_HOME": str(home)}
    from superset.app import create_app  # noqa: PLC0415  after its configuration

    with create_app().app_context():
        from superset.models.core import Database  # noqa: PLC0415

        clinic = Database(database_name="clinic", extra=json.dumps({"version": "15"}))
        clinic.set_sqlalchemy_uri(url)
        sys.stdout.write(json.dumps(said(clinic), default=str) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
