//! `auth_param`: a parameter of a scheme per line.

use crate::model::auth::{AuthOffer, AuthScheme, Scheme};
use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Parameters that Squid 2.5 had, which took as its own the challenges of helpers and used them again.
const OF_2_5: [&str; 3] = [
    "max_challenge_reuses",
    "max_challenge_lifetime",
    "use_ntlm_negotiate",
];

/// `SCHEME PARAMETER value`
pub(crate) fn auth_param(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let name = line.required("authentication scheme")?.into_owned();
    let Some(scheme) = Scheme::of(&name.to_ascii_lowercase()) else {
        let problem = line.fatal(format!("Unknown authentication scheme '{name}'."));
        let hint = "Schemes are basic, digest, ntlm and negotiate.";
        return Err(Box::new(problem.hint(hint)));
    };
    let parameter = line.required("parameter of the scheme")?.into_owned();
    let schemes = &mut draft.config.auth_param;
    let known = schemes
        .iter()
        .position(|known| known.scheme.name() == scheme.name());
    let index = known.unwrap_or_else(|| {
        schemes.push(AuthScheme::new(scheme, line.place));
        schemes.len() - 1
    });
    let Some(scheme) = schemes.get_mut(index) else {
        return Ok(());
    };
    if scheme.common(&parameter, line)? || scheme.scheme.own(&parameter, line)? {
        return Ok(());
    }
    let _unread = line.remainder();
    if OF_2_5.contains(&parameter.as_str()) {
        let hint = "Challenges are never used again; the line has no effect.";
        line.warn(
            format!("auth_param {name} {parameter} is of Squid 2.5"),
            hint,
        );
    } else {
        let message = format!("Unrecognised {name} auth scheme parameter '{parameter}'");
        line.note_error(message, "The line is ignored.");
    }
    Ok(())
}

/// `SCHEME,SCHEME… [acl…]`: which schemes they are is known at the end of the file.
pub(crate) fn auth_schemes(draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
    let Some(word) = line.quoted_word() else {
        return Err(line.fatal("missing authentication schemes"));
    };
    let names = word.text.split(',').map(str::trim);
    let schemes: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if schemes.is_empty() {
        return Err(line.fatal("missing authentication schemes"));
    }
    let acls = draft.acls.refs(line)?;
    let place = line.place.clone();
    let offer = AuthOffer {
        schemes,
        acls,
        place,
    };
    draft.config.auth_schemes.push(offer);
    Ok(())
}

impl AuthScheme {
    /// Reads a parameter that every scheme has; is it one?
    fn common(&mut self, parameter: &str, line: &mut Line<'_>) -> Outcome<bool> {
        match parameter {
            "program" => {
                self.program = line.words();
                self.place = line.place.clone();
                if self.program.is_empty() {
                    return Err(line.fatal("missing program"));
                }
            }
            "children" => self.children.read(line)?,
            // Squid 2.6 had it in a line of its own.
            "concurrency" => self.children.concurrency = line.natural()?,
            "realm" => self.realm = line.words().join(" "),
            "key_extras" => {
                let format = line.quoted_word();
                self.key_extras = format.map_or_else(String::new, |word| word.text.into_owned());
            }
            "utf8" => self.utf8 = line.on_off()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Scheme {
    /// Reads a parameter that only some schemes have; is it one?
    fn own(&mut self, parameter: &str, line: &mut Line<'_>) -> Outcome<bool> {
        match (self, parameter) {
            (Self::Basic(basic), "credentialsttl") => basic.credentialsttl = line.time()?,
            (Self::Basic(basic), "casesensitive") => basic.casesensitive = line.on_off()?,
            (Self::Basic(basic), "blankpassword") => basic.blankpassword = line.on_off()?,
            (Self::Digest(digest), "nonce_garbage_interval") => {
                digest.nonce_garbage_interval = line.time()?;
            }
            (Self::Digest(digest), "nonce_max_duration") => {
                digest.nonce_max_duration = line.time()?;
            }
            (Self::Digest(digest), "nonce_max_count") => digest.nonce_max_count = line.natural()?,
            (Self::Digest(digest), "nonce_strictness") => {
                digest.nonce_strictness = line.on_off()?
            }
            (Self::Digest(digest), "check_nonce_count") => {
                digest.check_nonce_count = line.on_off()?;
            }
            (Self::Digest(digest), "post_workaround") => digest.post_workaround = line.on_off()?,
            (Self::Ntlm(handshake) | Self::Negotiate(handshake), "keep_alive") => {
                handshake.keep_alive = line.on_off()?;
            }
            // It has nothing to keep open.
            (Self::Basic(_) | Self::Digest(_), "keep_alive") => drop(line.on_off()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Config, parse};

    fn config(text: &str) -> Config {
        parse(text, "test").unwrap()
    }

    fn basic(text: &str) -> (AuthScheme, crate::model::auth::Basic) {
        let scheme = config(text).auth_param.remove(0);
        let Scheme::Basic(basic) = scheme.scheme else {
            panic!("not basic: {scheme:?}");
        };
        (scheme, basic)
    }

    #[test]
    fn schemes_keep_the_order_of_their_first_lines() {
        let config = config(
            "auth_param negotiate children 9\nauth_param basic program /b x\n\
             auth_param NTLM keep_alive off\nauth_param negotiate program /n -s x",
        );
        let names = config.auth_param.iter().map(|known| known.scheme.name());
        assert!(names.eq(["negotiate", "basic", "ntlm"]));
        let [negotiate, basic, ntlm] = &config.auth_param[..] else {
            panic!("not three");
        };
        assert_eq!(negotiate.program, ["/n", "-s", "x"]);
        assert_eq!((negotiate.children.children, negotiate.place.line), (9, 4));
        assert_eq!(
            ntlm.scheme,
            Scheme::Ntlm(crate::model::auth::Handshake { keep_alive: false })
        );
        assert!(negotiate.is_complete() && basic.is_complete() && !ntlm.is_complete());
    }

    #[test]
    fn basic_has_squids_defaults_and_its_own_parameters() {
        let (scheme, options) = basic("auth_param basic program /b");
        assert_eq!(scheme.realm, "Squid proxy-caching web server");
        assert_eq!(options.credentialsttl, Duration::from_secs(7200));
        assert!(!options.casesensitive && !scheme.utf8);
        let (scheme, options) = basic(
            "auth_param basic realm My   realm\nauth_param basic credentialsttl 5 minutes\n\
             auth_param basic casesensitive on\nauth_param basic utf8 on\n\
             auth_param basic key_extras \"%>a %{X}>h\"\nauth_param basic children 7 startup=2",
        );
        assert_eq!(
            (&*scheme.realm, &*scheme.key_extras),
            ("My realm", "%>a %{X}>h")
        );
        assert_eq!(options.credentialsttl, Duration::from_secs(300));
        assert!(options.casesensitive && scheme.utf8);
        assert_eq!((scheme.children.children, scheme.children.startup), (7, 2));
    }

    #[test]
    fn digest_without_a_realm_is_not_offered() {
        let text = "auth_param digest program /d\nauth_param digest nonce_max_count 3\n\
                    auth_param digest nonce_max_duration 1 minute";
        let bare = config(text).auth_param.remove(0);
        assert!(!bare.is_complete());
        let whole = config(&format!("{text}\nauth_param digest realm r"))
            .auth_param
            .remove(0);
        assert!(whole.is_complete());
        let Scheme::Digest(digest) = whole.scheme else {
            panic!("not digest");
        };
        assert_eq!(
            (digest.nonce_max_count, digest.nonce_max_duration),
            (3, Duration::from_secs(60))
        );
        assert!(digest.check_nonce_count && !digest.nonce_strictness);
    }

    #[test]
    fn offers_are_lists_of_names_that_acls_may_choose() {
        let text = "auth_schemes basic,ntlm localhost\nauth_schemes \"ALL, basic,\" !localhost all";
        let offers = config(text).auth_schemes;
        assert_eq!(offers[0].schemes, ["basic", "ntlm"]);
        assert_eq!(offers[1].schemes, ["ALL", "basic"]);
        let acls = offers[1].acls.iter().map(|acl| (&*acl.name, acl.negated));
        assert!(acls.eq([("localhost", true), ("all", false)]));
    }

    #[test]
    fn what_squid_refuses_is_refused() {
        for text in [
            "auth_schemes",
            "auth_schemes ,",
            "auth_param",
            "auth_param basic",
            "auth_param other program /x",
            "auth_param basic children",
            "auth_param basic children 0",
            "auth_param basic program",
            "auth_param digest nonce_strictness x",
        ] {
            assert!(parse(text, "test").is_err(), "{text}");
        }
        let said =
            config("auth_param basic bar 1\nauth_param ntlm max_challenge_reuses 1").warnings;
        let said: Vec<&str> = said.iter().map(|said| &*said.message).collect();
        let expected = [
            "Unrecognised basic auth scheme parameter 'bar'",
            "auth_param ntlm max_challenge_reuses is of Squid 2.5",
        ];
        assert_eq!(said, expected);
    }
}
