//! What is said of mistakes.

use super::*;

#[test]
fn unknown_keys_are_named_with_their_origin() {
    let file = "colour = 1\n[hold]\ndefalt_s = 9\n[http]\ntoken = 'abc'\n[payments]\nwindow = 1\n[payments.p]\nx = 1\n\
                [channels.c]\nkind = 'webhook'\napi = 1\n[holds]\nmin_s = 1\n[nats]\nurl = 'nats://a'\n";
    assert_eq!(
        problems(
            file,
            &[
                ("LASTUNIT_HOLD__FOO", "1"),
                ("LASTUNIT_FOO", "1"),
                ("LASTUNIT_HOLD", "1"),
                ("LASTUNIT_CHANNELS__C", "1"),
                ("LASTUNIT_A__B__C__D", "1"),
            ]
        ),
        [
            "channels.c.api: unknown key (lastunit.toml)",
            "colour: unknown key (lastunit.toml)",
            "hold.defalt_s: unknown key (lastunit.toml)",
            "holds: unknown key (lastunit.toml)",
            "http.token: unknown key: a secret stands in the file that the key with _file names, or in the environment (lastunit.toml)",
            "payments.p.x: unknown key (lastunit.toml)",
            "payments.window: unknown key (lastunit.toml)",
            "a.b.c.d: unknown key (variable LASTUNIT_A__B__C__D)",
            "channels.c: is a section, not a key (variable LASTUNIT_CHANNELS__C)",
            "LASTUNIT_FOO: names no setting: settings are LASTUNIT_<SECTION>__<KEY>",
            "LASTUNIT_HOLD: names no setting: settings are LASTUNIT_<SECTION>__<KEY>",
            "hold.foo: unknown key (variable LASTUNIT_HOLD__FOO)",
        ]
    );
}

#[test]
fn what_kubernetes_says_of_a_service_of_our_name_is_no_setting() {
    let links = [
        ("LASTUNIT_PORT", "tcp://10.0.0.1:8080"),
        ("LASTUNIT_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("LASTUNIT_SERVICE_HOST", "10.0.0.1"),
        ("LASTUNIT_SERVICE_PORT_HTTP", "8080"),
        ("DATABASE_URL", ""),
    ];
    load("", &links).unwrap();
}

#[test]
fn wrong_types_and_bounds_name_their_key() {
    let file = "[hold]\nmin_s = 'five'\n[batch]\nmax = 0\n[payments]\non_failure = 'forget'\n[payments.p]\nwebhook_secret_file = 5\n\
                [channels.c]\nbase_url = 'http://x'\n[channels.d]\nkind = 'ebay'\n[channels.\"a.b\"]\nkind = 'ozon'\n\
                [sweeper]\nenabled = 1\n";
    assert_eq!(
        problems(file, &[("LASTUNIT_WAITING__MAX_S", "-1"), ("LASTUNIT_HTTP__LISTEN", "here")]),
        [
            "hold.min_s: invalid type: found string \"five\", expected u64 (lastunit.toml)",
            "payments.on_failure: \"forget\" is not one of release, keep (lastunit.toml)",
            "payments.p.webhook_secret_file: invalid type: found signed int `5`, expected path string (lastunit.toml)",
            "waiting.max_s: invalid value signed int `-1`, expected u64 (variable LASTUNIT_WAITING__MAX_S)",
            "sweeper.enabled: invalid type: found signed int `1`, expected a boolean (lastunit.toml)",
            "http.listen: \"here\" is not address:port (variable LASTUNIT_HTTP__LISTEN)",
            "channels.\"a.b\": a name is 1 to 64 of A-Z, a-z, 0-9, _ and -",
            "channels.c.kind: is missing",
            "channels.d.kind: \"ebay\" is not one of ozon, wildberries, webhook (lastunit.toml)",
            "batch.max: 0 is not between 1 and 10000",
        ]
    );
}

#[test]
fn bounds_that_belong_together_are_judged_together() {
    for (file, key) in [
        ("[hold]\nmin_s = 1000", "hold.default_s"),
        ("[hold]\nmin_s = 0", "hold.min_s"),
        ("[hold]\nmin_s = 90\nmax_s = 80", "hold.min_s"),
        ("[hold]\nmax_s = 999999999999", "hold.max_s"),
        ("[database]\nlock_timeout_ms = 40000", "database.lock_timeout_ms"),
        ("[database]\nschema = 'a\"b'", "database.schema"),
        ("[database]\nurl = 'mysql://x'", "database.url"),
        ("[nats]\nurl = 'nats://a,http://b'", "nats.url"),
        ("[streams]\nprefix = 'a.b'", "streams.prefix"),
        ("[streams]\ndir = '/not/there'", "streams.dir"),
        ("[replies]\nprefixes = ['_INBOX']", "replies.prefixes"),
        ("[replies]\nprefixes = ['order.created.']", "replies.prefixes"),
        ("[replies]\nprefixes = ['$SYS.']", "replies.prefixes"),
        ("[http]\nlisten = '0.0.0.0:8080'", "http.listen"),
        ("[log]\nlevel = 'inof'", "log.level"),
        ("[channels.c]\nkind = 'webhook'\nclient_id = '1'", "channels.c.client_id"),
        ("[channels.c]\nkind = 'ozon'\nbase_url = 'http://u:p@h'", "channels.c.base_url"),
        ("[http]\ntoken_file = '/not/there'", "http.token"),
    ] {
        let found = problems(file, &[]);
        assert!(found[0].starts_with(&format!("{key}: ")), "{file}: {found:?}");
        assert_eq!(found.len(), 1, "{file}: {found:?}");
    }
    let open = [("LASTUNIT_HTTP__LISTEN", "[::]:80"), ("LASTUNIT_HTTP__TOKEN", "t")];
    load("", &open).unwrap();
    load("[log]\nlevel = 'info,lastunit=debug'", &[]).unwrap();
}

#[test]
fn a_file_that_was_named_must_be_there_and_a_broken_one_is_not_quoted() {
    let missing = Settings::load_from(Some(Path::new("/not/there.toml")), []);
    assert!(missing.unwrap_err().to_string().contains("/not/there.toml"));

    let error = load("[hold]\nmin_s = 5\n[database]\nurl = 'postgres://u:hush@h\n", &[]).unwrap_err();
    assert!(error.to_string().contains("line 4"), "{error}");
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[test]
fn ways_to_log_in_and_files_of_tls_that_will_not_do() {
    let file = "[nats]\nca_file = '/nowhere/ca'\ncert_file = '/nowhere/cert'\ninbox_prefix = '_INBOX.>'\n[streams]\nreplicas = 2\n";
    let variables =
        [("LASTUNIT_NATS__NKEY_SEED", "SUhush"), ("LASTUNIT_NATS__TOKEN", "t"), ("LASTUNIT_NATS__CA", "-----BEGIN")];
    assert_eq!(
        problems(file, &variables),
        [
            "nats.ca: unknown key (variable LASTUNIT_NATS__CA)",
            "nats.token: stands beside nats.nkey_seed; one of them is enough",
            "nats.nkey_seed: is not the seed of an nkey (`SU…`)",
            "nats.ca_file: /nowhere/ca is not a file",
            "nats.cert_file: /nowhere/cert is not a file",
            "nats.key_file: nats.cert_file and nats.key_file go together",
            "nats.inbox_prefix: \"_INBOX.>\" is no subject",
            "streams.replicas: 2 is not 0, 1, 3 or 5",
        ]
    );
}
