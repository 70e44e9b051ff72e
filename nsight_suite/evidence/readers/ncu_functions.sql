-- What several steps of reading an ncu report ask of a printed cell.

-- An integer, however its thousands are parted; with decimals ncu prints two or six zeros.
CREATE OR REPLACE TEMP MACRO ncu_whole(text) AS
    CASE
        WHEN regexp_full_match(text, '[0-9]+([.,](00?|0{4,}))?')
            THEN TRY_CAST(regexp_extract(text, '[0-9]+') AS BIGINT)
        WHEN regexp_full_match(text, '[0-9]{1,3}([^0-9][0-9]{3})+([.,](00?|0{4,}))?')
            THEN TRY_CAST(regexp_replace(regexp_replace(text, '[.,](00?|0{4,})$', ''), '[^0-9]', '', 'g') AS BIGINT)
    END;

CREATE OR REPLACE TEMP MACRO ncu_finite(text) AS
    CASE WHEN isfinite(TRY_CAST(text AS DOUBLE)) THEN TRY_CAST(text AS DOUBLE) END;

-- Without the blanks that may stand around a number.
CREATE OR REPLACE TEMP MACRO ncu_trimmed(text) AS
    trim(text, ' ' || chr(9) || chr(10) || chr(13) || chr(160) || chr(8199) || chr(8201) || chr(8239));
