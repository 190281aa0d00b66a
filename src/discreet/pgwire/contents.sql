-- What the catalog says: types, schemas, and what is public about tables and columns.
CREATE TABLE pg.type_names (oid INTEGER, name VARCHAR, full_name VARCHAR, category VARCHAR, size INTEGER, list INTEGER);
INSERT INTO pg.type_names VALUES
  (16, 'bool', 'boolean', 'B', 1, 1000),
  (17, 'bytea', 'bytea', 'U', -1, 0),
  (18, 'char', '"char"', 'S', 1, 0),
  (19, 'name', 'name', 'S', 64, 0),
  (20, 'int8', 'bigint', 'N', 8, 1016),
  (21, 'int2', 'smallint', 'N', 2, 0),
  (23, 'int4', 'integer', 'N', 4, 1007),
  (25, 'text', 'text', 'S', -1, 1009),
  (26, 'oid', 'oid', 'N', 4, 0),
  (700, 'float4', 'real', 'N', 4, 0),
  (701, 'float8', 'double precision', 'N', 8, 1022),
  (705, 'unknown', 'unknown', 'X', -2, 0),
  (1042, 'bpchar', 'character', 'S', -1, 0),
  (1043, 'varchar', 'character varying', 'S', -1, 0),
  (1082, 'date', 'date', 'D', 4, 1182),
  (1114, 'timestamp', 'timestamp without time zone', 'D', 8, 1115),
  (1184, 'timestamptz', 'timestamp with time zone', 'D', 8, 0),
  (1700, 'numeric', 'numeric', 'N', -1, 0);
INSERT INTO pg.type_names SELECT list, '_' || name, full_name || '[]', 'A', -1, 0 FROM pg.type_names WHERE list > 0;
INSERT INTO pg.pg_proc BY NAME SELECT 3000 + oid AS oid, name || 'recv' AS proname, 11 AS pronamespace, 'f' AS prokind FROM pg.type_names;
INSERT INTO pg.pg_proc BY NAME SELECT unnest([2400, 750]) AS oid, unnest(['array_recv', 'array_in']) AS proname, 11 AS pronamespace, 'f' AS prokind;
INSERT INTO pg.pg_type BY NAME
  SELECT t.oid, t.name AS typname, 11 AS typnamespace, 10 AS typowner, t.size AS typlen, CASE t.category WHEN 'X' THEN 'p' ELSE 'b' END AS typtype, t.category AS typcategory, true AS typisdefined, ',' AS typdelim, coalesce(e.oid, 0) AS typelem, t.list AS typarray, -1 AS typtypmod, CASE t.category WHEN 'A' THEN 750 ELSE 0 END AS typinput, CASE t.category WHEN 'A' THEN 2400 ELSE 3000 + t.oid END AS typreceive
  FROM pg.type_names t LEFT JOIN pg.type_names e ON e.list = t.oid;
INSERT INTO pg.pg_namespace BY NAME SELECT unnest([11, 2200, 13000]) AS oid, unnest(['pg_catalog', 'public', 'information_schema']) AS nspname, 10 AS nspowner;
INSERT INTO info.schemata BY NAME SELECT f.database AS catalog_name, n.nspname AS schema_name, 'owner' AS schema_owner FROM pg.pg_namespace n, (SELECT any_value(database) AS database FROM public_facts.columns) f;
INSERT INTO info.information_schema_catalog_name BY NAME SELECT any_value(database) AS catalog_name FROM public_facts.columns;
INSERT INTO pg.pg_database BY NAME SELECT 1 AS oid, any_value(database) AS datname, 10 AS datdba, 6 AS encoding, 'C' AS datcollate, 'C' AS datctype, 'c' AS datlocprovider, true AS datallowconn, -1 AS datconnlimit FROM public_facts.columns;
INSERT INTO pg.pg_roles BY NAME SELECT 10 AS oid, 'owner' AS rolname, true AS rolcanlogin, true AS rolinherit, -1 AS rolconnlimit;
INSERT INTO pg.pg_user BY NAME SELECT 'owner' AS usename, 10 AS usesysid;
INSERT INTO pg.pg_am BY NAME SELECT 2 AS oid, 'heap' AS amname, 't' AS amtype;
INSERT INTO pg.pg_settings BY NAME SELECT unnest(['max_index_keys', 'server_version_num', 'standard_conforming_strings']) AS name, unnest(['32', '150000', 'on']) AS setting;
INSERT INTO pg.pg_class BY NAME
  SELECT CASE table_name WHEN 'pg_class' THEN 1259 WHEN 'pg_namespace' THEN 2615 WHEN 'pg_type' THEN 1247 ELSE 2000 + row_number() OVER (ORDER BY table_name) END AS oid, table_name AS relname, 11 AS relnamespace, 10 AS relowner, 'r' AS relkind, 'p' AS relpersistence, 'n' AS relreplident, true AS relispopulated
  FROM duckdb_tables() WHERE schema_name = 'pg' AND table_name <> 'type_names';
INSERT INTO pg.pg_class BY NAME
  SELECT of_table AS oid, name AS relname, 2200 AS relnamespace, 10 AS relowner, 2 AS relam, 'r' AS relkind, 'p' AS relpersistence, 'd' AS relreplident, true AS relispopulated, count(*) AS relnatts
  FROM public_facts.columns GROUP BY of_table, name;
INSERT INTO pg.pg_tables BY NAME SELECT DISTINCT 'public' AS schemaname, name AS tablename, 'owner' AS tableowner FROM public_facts.columns;
INSERT INTO info.tables BY NAME SELECT DISTINCT database AS table_catalog, 'public' AS table_schema, name AS table_name, 'BASE TABLE' AS table_type, 'NO' AS is_insertable_into FROM public_facts.columns;
INSERT INTO pg.pg_attribute BY NAME
  SELECT of_table AS attrelid, column_name AS attname, number AS attnum, kind AS atttypid, -1 AS atttypmod, t.size AS attlen, '' AS attidentity, '' AS attgenerated, '' AS attcompression, 'p' AS attstorage, true AS attislocal, NOT nullable AS attnotnull
  FROM public_facts.columns f JOIN pg.type_names t ON t.oid = f.kind;
INSERT INTO info.columns BY NAME
  SELECT database AS table_catalog, 'public' AS table_schema, f.name AS table_name, column_name, number AS ordinal_position, CASE WHEN nullable THEN 'YES' ELSE 'NO' END AS is_nullable, t.full_name AS data_type, t.name AS udt_name, database AS udt_catalog, 'pg_catalog' AS udt_schema, 'NO' AS is_identity, 'NEVER' AS is_generated, 'NO' AS is_updatable, 'NO' AS is_self_referencing, NULL AS character_maximum_length, NULL AS numeric_precision, NULL AS numeric_scale, NULL AS datetime_precision
  FROM public_facts.columns f JOIN pg.type_names t ON t.oid = f.kind;
INSERT INTO pg.pg_description BY NAME SELECT of_table AS objoid, 1259 AS classoid, number AS objsubid, facts AS description FROM public_facts.columns WHERE facts IS NOT NULL;
INSERT INTO pg.pg_description BY NAME SELECT DISTINCT of_table AS objoid, 1259 AS classoid, 0 AS objsubid, about AS description FROM public_facts.columns;
DROP SCHEMA public_facts CASCADE;
