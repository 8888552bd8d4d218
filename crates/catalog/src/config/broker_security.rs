//! Broker settings. TLS, SASL, tokens and authorization.

use super::row::Kind::{Boolean, Class, Double, Int, List, Long, Password, Short, String};
use super::row::{Row, Valid};

pub(super) const ROWS: &[Row] = &[
    Row::broker("authorizer.class.name", String, Some(""))
        .refused("Authorization is not served yet; to ignore this would leave the cluster open."),
    Row::broker("connection.failed.authentication.delay.ms", Int, Some("100"))
        .at_least(0)
        .accepted("SASL listeners are not served yet."),
    Row::broker("connections.max.reauth.ms", Long, Some("0")).accepted("SASL listeners are not served yet."),
    Row::broker("delegation.token.expiry.check.interval.ms", Long, Some("3600000"))
        .at_least(1)
        .accepted("Delegation tokens are not served yet."),
    Row::broker("delegation.token.expiry.time.ms", Long, Some("86400000"))
        .at_least(1)
        .accepted("Delegation tokens are not served yet."),
    Row::broker("delegation.token.max.lifetime.ms", Long, Some("604800000"))
        .at_least(1)
        .accepted("Delegation tokens are not served yet."),
    Row::broker("delegation.token.secret.key", Password, None)
        .accepted("Delegation tokens are not served yet."),
    Row::broker(
        "principal.builder.class",
        Class,
        Some("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"),
    )
    .per_broker()
    .accepted("Java classes can not be loaded."),
    Row::broker("sasl.client.callback.handler.class", Class, None)
        .accepted("Java classes can not be loaded."),
    Row::broker("sasl.enabled.mechanisms", List, Some("GSSAPI"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.jaas.config", Password, None)
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.kinit.cmd", String, Some("/usr/bin/kinit"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.min.time.before.relogin", Long, Some("60000"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.principal.to.local.rules", List, Some("DEFAULT"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.service.name", String, None)
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.ticket.renew.jitter", Double, Some("0.05"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.kerberos.ticket.renew.window.factor", Double, Some("0.8"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.callback.handler.class", Class, None).accepted("Java classes can not be loaded."),
    Row::broker("sasl.login.class", Class, None).accepted("Java classes can not be loaded."),
    Row::broker("sasl.login.connect.timeout.ms", Int, None).accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.read.timeout.ms", Int, None).accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.refresh.buffer.seconds", Short, Some("300"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.refresh.min.period.seconds", Short, Some("60"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.refresh.window.factor", Double, Some("0.8"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.refresh.window.jitter", Double, Some("0.05"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.retry.backoff.max.ms", Long, Some("10000"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.login.retry.backoff.ms", Long, Some("100"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.mechanism.controller.protocol", String, Some("GSSAPI"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.mechanism.inter.broker.protocol", String, Some("GSSAPI"))
        .per_broker()
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.allow.unverified.audience", Boolean, Some("false"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.allow.unverified.issuer", Boolean, Some("false"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.algorithm", String, Some("RS256"))
        .valid(Valid::OneOfNoCase(&["ES256", "RS256"]))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.aud", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.exp.seconds", Int, Some("300"))
        .between(0, 86400)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.iss", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.jti.include", Boolean, Some("false"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.nbf.seconds", Int, Some("60"))
        .between(0, 3600)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.claim.sub", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.file", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.private.key.file", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.private.key.passphrase", Password, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.assertion.template.file", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.client.credentials.client.id", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.client.credentials.client.secret", Password, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.clock.skew.seconds", Int, Some("30"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.expected.audience", List, Some(""))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.expected.issuer", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.jwks.endpoint.refresh.ms", Long, Some("3600000"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Long, Some("10000"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Long, Some("100"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.jwks.endpoint.url", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker(
        "sasl.oauthbearer.jwt.retriever.class",
        Class,
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    )
    .accepted("Java classes can not be loaded."),
    Row::broker(
        "sasl.oauthbearer.jwt.validator.class",
        Class,
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    )
    .accepted("Java classes can not be loaded."),
    Row::broker("sasl.oauthbearer.scope", String, None).accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.scope.claim.name", String, Some("scope"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.sub.claim.name", String, Some("sub"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.oauthbearer.token.endpoint.url", String, None)
        .accepted("SASL listeners are not served yet."),
    Row::broker("sasl.server.callback.handler.class", Class, None)
        .accepted("Java classes can not be loaded."),
    Row::broker("sasl.server.max.receive.size", Int, Some("524288"))
        .accepted("SASL listeners are not served yet."),
    Row::broker("security.providers", String, None).accepted("Java classes can not be loaded."),
    Row::broker("ssl.allow.dn.changes", Boolean, Some("false")).accepted("TLS listeners are not served yet."),
    Row::broker("ssl.allow.san.changes", Boolean, Some("false"))
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.cipher.suites", List, Some(""))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.client.auth", String, Some("none"))
        .valid(Valid::OneOf(&["required", "requested", "none"]))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.enabled.protocols", List, Some("TLSv1.2,TLSv1.3"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.endpoint.identification.algorithm", String, Some("https"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.engine.factory.class", Class, None)
        .per_broker()
        .accepted("Java classes can not be loaded."),
    Row::broker("ssl.key.password", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keymanager.algorithm", String, Some("SunX509"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keystore.certificate.chain", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keystore.key", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keystore.location", String, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keystore.password", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.keystore.type", String, Some("JKS"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.principal.mapping.rules", String, Some("DEFAULT"))
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.protocol", String, Some("TLSv1.3"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.provider", String, None).per_broker().accepted("TLS listeners are not served yet."),
    Row::broker("ssl.secure.random.implementation", String, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.trustmanager.algorithm", String, Some("PKIX"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.truststore.certificates", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.truststore.location", String, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.truststore.password", Password, None)
        .per_broker()
        .accepted("TLS listeners are not served yet."),
    Row::broker("ssl.truststore.type", String, Some("JKS"))
        .per_broker()
        .accepted("TLS listeners are not served yet."),
];
