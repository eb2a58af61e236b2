-- Version 1 of the schema of the backend "postgres". SCHEMA is replaced with the quoted name.
-- The functions search rows and locks by their complete keys, if necessary one by one: the planner has no
-- statistics of what a run has just written, and would join all of it in each transaction.
--
-- All writes are made by the functions, which check the lease of the run. A role that may only read
-- the tables and execute the functions cannot bypass that check.

CREATE TABLE SCHEMA.states (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    lineage text NOT NULL DEFAULT '',
    serial bigint NOT NULL DEFAULT 0,
    terraform_version text NOT NULL DEFAULT ''
);

-- The ID of a run is its epoch: it increases, and is never used again.
CREATE TABLE SCHEMA.runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state_id bigint NOT NULL REFERENCES SCHEMA.states ON DELETE CASCADE,
    lock_id text NOT NULL UNIQUE,
    mode text NOT NULL CHECK (mode IN ('shared', 'exclusive')),
    operation text NOT NULL,
    who text NOT NULL,
    program_version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'lost', 'ended')),
    recovered_by bigint
);
CREATE INDEX runs_not_ended ON SCHEMA.runs (state_id) WHERE status <> 'ended';

-- "begun" is the action of a request that was sent to a provider and whose result is not stored.
CREATE TABLE SCHEMA.locks (
    state_id bigint NOT NULL REFERENCES SCHEMA.states ON DELETE CASCADE,
    run_id bigint NOT NULL REFERENCES SCHEMA.runs ON DELETE CASCADE,
    mode text NOT NULL CHECK (mode IN ('read', 'write')),
    kind text NOT NULL,
    name text NOT NULL,
    resource text NOT NULL,
    begun text,
    PRIMARY KEY (run_id, kind, name, mode)
);
CREATE INDEX locks_by_resource ON SCHEMA.locks (state_id, kind, resource, mode);
CREATE INDEX locks_by_name ON SCHEMA.locks (state_id, kind, name, mode);

-- The versions of all rows. A version is current if "until" is null.
CREATE TABLE SCHEMA.rows (
    state_id bigint NOT NULL REFERENCES SCHEMA.states ON DELETE CASCADE,
    kind text NOT NULL,
    name text NOT NULL,
    resource text NOT NULL,
    provider text NOT NULL,
    content text NOT NULL,
    since bigint NOT NULL,
    until bigint,
    run_id bigint NOT NULL,
    PRIMARY KEY (state_id, kind, name, since)
);
CREATE UNIQUE INDEX rows_current ON SCHEMA.rows (state_id, kind, name) WHERE until IS NULL;
CREATE INDEX rows_since ON SCHEMA.rows (state_id, since);
CREATE INDEX rows_until ON SCHEMA.rows (state_id, until) WHERE until IS NOT NULL;

-- One row for each serial.
CREATE TABLE SCHEMA.versions (
    state_id bigint NOT NULL REFERENCES SCHEMA.states ON DELETE CASCADE,
    serial bigint NOT NULL,
    lineage text NOT NULL,
    terraform_version text NOT NULL,
    run_id bigint NOT NULL,
    operation text NOT NULL,
    who text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (state_id, serial)
);

-- Renews the lease of a run, which locks the run's row until the transaction ends. Fails if the lease
-- has ended: a run whose lease has ended cannot write again.
CREATE FUNCTION SCHEMA.renew(run bigint, lease_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    UPDATE runs SET lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE id = run AND status = 'active' AND lease_until > clock_timestamp();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease of run % has ended', run USING ERRCODE = 'WD001';
    END IF;
END $$;

-- Ends the runs of a state whose leases have ended. Their locks remain on rows for which a request was
-- sent to a provider.
CREATE FUNCTION SCHEMA.expire(state bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    UPDATE runs SET status = 'lost'
    WHERE state_id = state AND status = 'active' AND lease_until <= clock_timestamp();
    IF NOT EXISTS (SELECT FROM runs WHERE state_id = state AND status = 'lost') THEN
        RETURN;
    END IF;
    DELETE FROM locks l USING runs r
    WHERE r.id = l.run_id AND l.state_id = state AND r.status = 'lost' AND l.begun IS NULL;
    UPDATE runs r SET status = 'ended'
    WHERE r.state_id = state AND r.status = 'lost' AND NOT EXISTS (SELECT FROM locks WHERE run_id = r.id);
END $$;

-- Starts a run. Returns its ID, or the run that excludes it.
CREATE FUNCTION SCHEMA.start_run(
    state_name text, run_mode text, run_operation text, run_who text, version text, run_lock_id text,
    lease_seconds integer
) RETURNS TABLE (run_id bigint, state bigint, is_started boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    state_row bigint;
    found bigint;
BEGIN
    INSERT INTO states (name) VALUES (state_name) ON CONFLICT (name) DO NOTHING;
    SELECT s.id INTO state_row FROM states s WHERE s.name = state_name FOR UPDATE;
    PERFORM expire(state_row);
    SELECT r.id INTO found FROM runs r
    WHERE r.state_id = state_row AND r.status = 'active' AND 'exclusive' IN (r.mode, run_mode)
    ORDER BY r.id LIMIT 1;
    IF found IS NOT NULL THEN
        RETURN QUERY SELECT found, state_row, false;
        RETURN;
    END IF;
    INSERT INTO runs (state_id, lock_id, mode, operation, who, program_version, lease_until, status)
    VALUES (state_row, run_lock_id, run_mode, run_operation, run_who, version,
            clock_timestamp() + make_interval(secs => lease_seconds), 'active')
    RETURNING id INTO found;
    RETURN QUERY SELECT found, state_row, true;
END $$;

-- Locks rows for a run. "items" is an array of objects with mode, kind, name and resource. A read lock
-- applies to all rows of a resource. Returns the conflicts: rows that another run has locked, and rows
-- that have changed since the serial on which the run is based. If there are any, nothing is locked.
CREATE FUNCTION SCHEMA.lock_rows(run bigint, base bigint, items json, lease_seconds integer)
RETURNS TABLE (kind text, name text, other_run bigint, is_changed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    state bigint;
    conflicts bigint;
BEGIN
    SELECT state_id INTO state FROM runs WHERE id = run;
    PERFORM FROM states WHERE id = state FOR UPDATE;
    PERFORM renew(run, lease_seconds);
    PERFORM expire(state);
    RETURN QUERY
        WITH wanted AS MATERIALIZED (
            SELECT i.mode, i.kind, i.name, i.resource
            FROM json_to_recordset(items) AS i (mode text, kind text, name text, resource text)
        ), writes AS MATERIALIZED (
            SELECT DISTINCT w.kind, w.resource FROM wanted w WHERE w.mode = 'write'
        ), changes AS MATERIALIZED (
            SELECT c.kind, c.name, c.resource, coalesce(c.until, c.since) AS serial
            FROM rows c WHERE c.state_id = state AND c.since > base
            UNION ALL
            SELECT c.kind, c.name, c.resource, c.until
            FROM rows c WHERE c.state_id = state AND c.until > base AND c.since <= base
        )
        SELECT l.kind, l.name, l.run_id, false FROM wanted w
        JOIN locks l ON l.state_id = state AND l.kind = w.kind AND l.name = w.name AND l.mode = 'write'
        WHERE w.mode = 'write' AND l.run_id <> run
        UNION
        SELECT l.kind, l.name, l.run_id, false FROM wanted w
        JOIN locks l ON l.state_id = state AND l.kind = w.kind AND l.resource = w.resource AND l.mode = 'write'
        WHERE w.mode = 'read' AND l.run_id <> run
        UNION
        SELECT l.kind, l.name, l.run_id, false FROM writes w
        JOIN locks l ON l.state_id = state AND l.kind = w.kind AND l.resource = w.resource AND l.mode = 'read'
        WHERE l.run_id <> run
        UNION
        SELECT c.kind, c.name, v.run_id, true FROM wanted w
        JOIN rows c ON c.state_id = state AND c.kind = w.kind AND c.name = w.name
            AND (c.since > base OR c.until > base)
        JOIN versions v ON v.state_id = state AND v.serial = coalesce(c.until, c.since)
        WHERE w.mode = 'write' AND v.run_id <> run
        UNION
        SELECT c.kind, c.name, v.run_id, true FROM changes c
        JOIN wanted w ON w.mode = 'read' AND w.kind = c.kind AND w.resource = c.resource
        JOIN versions v ON v.state_id = state AND v.serial = c.serial
        WHERE v.run_id <> run;
    GET DIAGNOSTICS conflicts = ROW_COUNT;
    IF conflicts = 0 THEN
        INSERT INTO locks (state_id, run_id, mode, kind, name, resource)
        SELECT state, run, i.mode, i.kind, i.name, i.resource
        FROM json_to_recordset(items) AS i (mode text, kind text, name text, resource text)
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Stores changes of a run as the next serial. "begun" contains rows for which requests are about to be
-- sent to providers, "changed" the new versions of rows, and "removed" the rows that are removed. The run
-- must have locked all of them, unless it is exclusive or "is_checked" is false.
CREATE FUNCTION SCHEMA.store_rows(
    run bigint, new_lineage text, version text, least_serial bigint, begun_rows json, changed json,
    removed json, lease_seconds integer
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    this runs%ROWTYPE;
    next_serial bigint;
    item record;
BEGIN
    SELECT * INTO this FROM runs WHERE id = run;
    PERFORM FROM states WHERE id = this.state_id FOR UPDATE;
    PERFORM renew(run, lease_seconds);
    PERFORM expire(this.state_id);
    FOR item IN
        SELECT b.kind, b.name FROM json_to_recordset(begun_rows) AS b (kind text, name text)
        UNION ALL
        SELECT c.kind, c.name FROM json_to_recordset(changed) AS c (kind text, name text)
        UNION ALL
        SELECT d.kind, d.name FROM json_to_recordset(removed) AS d (kind text, name text)
    LOOP
        PERFORM FROM locks l
        WHERE l.run_id = run AND l.kind = item.kind AND l.name = item.name AND l.mode = 'write';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'run % has not locked %', run, item.name USING ERRCODE = 'WD002';
        END IF;
    END LOOP;
    FOR item IN
        SELECT b.kind, b.name, b.action
        FROM json_to_recordset(begun_rows) AS b (kind text, name text, action text)
    LOOP
        UPDATE locks l SET begun = item.action
        WHERE l.run_id = run AND l.kind = item.kind AND l.name = item.name AND l.mode = 'write';
    END LOOP;
    IF json_array_length(changed) = 0 AND json_array_length(removed) = 0 AND least_serial = 0 THEN
        RETURN (SELECT serial FROM states WHERE id = this.state_id);
    END IF;
    UPDATE states s
    SET serial = greatest(s.serial + 1, least_serial), lineage = new_lineage, terraform_version = version
    WHERE s.id = this.state_id RETURNING s.serial INTO next_serial;
    INSERT INTO versions (state_id, serial, lineage, terraform_version, run_id, operation, who)
    VALUES (this.state_id, next_serial, new_lineage, version, run, this.operation, this.who);
    UPDATE rows r SET until = next_serial
    FROM (
        SELECT kind, name FROM json_to_recordset(changed) AS c (kind text, name text)
        UNION ALL
        SELECT kind, name FROM json_to_recordset(removed) AS d (kind text, name text)
    ) k
    WHERE r.state_id = this.state_id AND r.kind = k.kind AND r.name = k.name AND r.until IS NULL;
    INSERT INTO rows (state_id, kind, name, resource, provider, content, since, run_id)
    SELECT this.state_id, c.kind, c.name, c.resource, c.provider, c.content, next_serial, run
    FROM json_to_recordset(changed)
        AS c (kind text, name text, resource text, provider text, content text);
    FOR item IN
        SELECT c.kind, c.name FROM json_to_recordset(changed) AS c (kind text, name text)
        UNION ALL
        SELECT d.kind, d.name FROM json_to_recordset(removed) AS d (kind text, name text)
        EXCEPT
        SELECT b.kind, b.name FROM json_to_recordset(begun_rows) AS b (kind text, name text)
    LOOP
        UPDATE locks l SET begun = NULL
        WHERE l.run_id = run AND l.kind = item.kind AND l.name = item.name AND l.mode = 'write'
          AND l.begun IS NOT NULL;
    END LOOP;
    RETURN next_serial;
END $$;

-- Gives the locks of an interrupted run to another run, which stores its changes. If an earlier run was
-- interrupted while it did so, its locks are included. Returns the rows, and one row without a name.
-- "was_ended" is true if somebody had released the locks.
CREATE FUNCTION SCHEMA.take_over(run bigint, interrupted bigint, lease_seconds integer)
RETURNS TABLE (kind text, name text, resource text, was_ended boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    state bigint;
    earlier text;
    chain bigint[];
BEGIN
    SELECT r.state_id INTO state FROM runs r WHERE r.id = run;
    PERFORM FROM states s WHERE s.id = state FOR UPDATE;
    PERFORM renew(run, lease_seconds);
    SELECT r.status INTO earlier FROM runs r WHERE r.id = interrupted AND r.state_id = state;
    WITH RECURSIVE recoveries AS (
        SELECT r.id, r.recovered_by FROM runs r WHERE r.id = interrupted AND r.state_id = state
        UNION
        SELECT r.id, r.recovered_by FROM recoveries c JOIN runs r ON r.id = c.recovered_by
    )
    SELECT array_agg(c.id) INTO chain FROM recoveries c WHERE c.id <> run;
    INSERT INTO locks (state_id, run_id, mode, kind, name, resource, begun)
    SELECT DISTINCT ON (l.kind, l.name) state, run, 'write', l.kind, l.name, l.resource,
        coalesce(l.begun, 'recovery')
    FROM locks l WHERE l.run_id = ANY (chain) AND l.mode = 'write'
    ON CONFLICT DO NOTHING;
    DELETE FROM locks l WHERE l.run_id = ANY (chain);
    UPDATE runs r SET status = 'ended', recovered_by = run WHERE r.id = ANY (chain);
    RETURN QUERY SELECT l.kind, l.name, l.resource, false FROM locks l
        WHERE l.run_id = run AND l.mode = 'write';
    RETURN QUERY SELECT ''::text, ''::text, ''::text,
        earlier IS DISTINCT FROM 'lost' AND earlier IS DISTINCT FROM 'active'
        AND NOT EXISTS (SELECT FROM locks l WHERE l.run_id = run);
END $$;

-- Notes that the changes of interrupted runs are stored.
CREATE FUNCTION SCHEMA.end_recovery(run bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    UPDATE locks l SET begun = NULL WHERE l.run_id = run;
END $$;

-- Ends a run. Locks on rows for which a request was sent to a provider remain.
CREATE FUNCTION SCHEMA.end_run(run bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    UPDATE runs SET status = 'lost' WHERE id = run AND status = 'active';
    DELETE FROM locks WHERE run_id = run AND begun IS NULL;
    UPDATE runs SET status = 'ended'
    WHERE id = run AND status = 'lost' AND NOT EXISTS (SELECT FROM locks WHERE run_id = run);
END $$;

-- Ends a run of another process, with all its locks. Returns whether there was such a run.
CREATE FUNCTION SCHEMA.force_end(state_name text, run_lock_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    ended bigint;
BEGIN
    UPDATE runs r SET status = 'ended' FROM states s
    WHERE s.id = r.state_id AND s.name = state_name AND r.lock_id = run_lock_id AND r.status <> 'ended'
    RETURNING r.id INTO ended;
    DELETE FROM locks WHERE run_id = ended;
    RETURN ended IS NOT NULL;
END $$;

-- Deletes a state with its history. Fails if a run uses it.
CREATE FUNCTION SCHEMA.delete_state(state_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    DELETE FROM states WHERE name = state_name;
    RETURN FOUND;
END $$;
