//! The field names we know, and the fast way from a name to its [`FieldId`].
//!
//! One row per name. The lookup table is a perfect hash over length and three letters that the
//! compiler finds, so a new row needs no tuning: a name costs one table read and one compare.

macro_rules! fields {
    ($($id:ident = $name:literal,)*) => {
        /// A field name that Squall does something with; all others are [`FieldId::Other`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum FieldId {
            /// A name without a row in this table.
            Other,
            $(#[doc = concat!("`", $name, "`")] $id,)*
        }

        const IDS: &[FieldId] = &[FieldId::Other, $(FieldId::$id,)*];
        const NAMES: &[&str] = &["", $($name,)*];
    };
}

fields! {
    Accept = "Accept",
    AcceptCharset = "Accept-Charset",
    AcceptEncoding = "Accept-Encoding",
    AcceptLanguage = "Accept-Language",
    AcceptRanges = "Accept-Ranges",
    AccessControlAllowOrigin = "Access-Control-Allow-Origin",
    Age = "Age",
    Allow = "Allow",
    AltSvc = "Alt-Svc",
    AuthenticationInfo = "Authentication-Info",
    Authorization = "Authorization",
    CacheControl = "Cache-Control",
    CacheStatus = "Cache-Status",
    CdnCacheControl = "CDN-Cache-Control",
    CdnLoop = "CDN-Loop",
    Connection = "Connection",
    ContentDigest = "Content-Digest",
    ContentDisposition = "Content-Disposition",
    ContentEncoding = "Content-Encoding",
    ContentLanguage = "Content-Language",
    ContentLength = "Content-Length",
    ContentLocation = "Content-Location",
    ContentMd5 = "Content-MD5",
    ContentRange = "Content-Range",
    ContentSecurityPolicy = "Content-Security-Policy",
    ContentType = "Content-Type",
    Cookie = "Cookie",
    Date = "Date",
    Dnt = "DNT",
    ETag = "ETag",
    Expect = "Expect",
    Expires = "Expires",
    Forwarded = "Forwarded",
    From = "From",
    FrontEndHttps = "Front-End-Https",
    Host = "Host",
    Http2Settings = "HTTP2-Settings",
    IfMatch = "If-Match",
    IfModifiedSince = "If-Modified-Since",
    IfNoneMatch = "If-None-Match",
    IfRange = "If-Range",
    IfUnmodifiedSince = "If-Unmodified-Since",
    KeepAlive = "Keep-Alive",
    Key = "Key",
    LastModified = "Last-Modified",
    Link = "Link",
    Location = "Location",
    MaxForwards = "Max-Forwards",
    MimeVersion = "Mime-Version",
    Negotiate = "Negotiate",
    Origin = "Origin",
    Pragma = "Pragma",
    Priority = "Priority",
    ProxyAuthenticate = "Proxy-Authenticate",
    ProxyAuthenticationInfo = "Proxy-Authentication-Info",
    ProxyAuthorization = "Proxy-Authorization",
    ProxyConnection = "Proxy-Connection",
    ProxyStatus = "Proxy-Status",
    ProxySupport = "Proxy-Support",
    Range = "Range",
    Referer = "Referer",
    ReprDigest = "Repr-Digest",
    RequestRange = "Request-Range",
    RetryAfter = "Retry-After",
    SecWebSocketKey = "Sec-WebSocket-Key",
    SecWebSocketVersion = "Sec-WebSocket-Version",
    Server = "Server",
    ServerTiming = "Server-Timing",
    SetCookie = "Set-Cookie",
    StrictTransportSecurity = "Strict-Transport-Security",
    SurrogateCapability = "Surrogate-Capability",
    SurrogateControl = "Surrogate-Control",
    Te = "TE",
    Title = "Title",
    Trailer = "Trailer",
    TransferEncoding = "Transfer-Encoding",
    Translate = "Translate",
    UnlessModifiedSince = "Unless-Modified-Since",
    Upgrade = "Upgrade",
    UpgradeInsecureRequests = "Upgrade-Insecure-Requests",
    UserAgent = "User-Agent",
    Vary = "Vary",
    Via = "Via",
    Warning = "Warning",
    WwwAuthenticate = "WWW-Authenticate",
    XAccelExpires = "X-Accel-Expires",
    XCache = "X-Cache",
    XCacheLookup = "X-Cache-Lookup",
    XContentTypeOptions = "X-Content-Type-Options",
    XForwardedFor = "X-Forwarded-For",
    XForwardedHost = "X-Forwarded-Host",
    XForwardedProto = "X-Forwarded-Proto",
    XForwardedServer = "X-Forwarded-Server",
    XRequestUri = "X-Request-URI",
    XSquidError = "X-Squid-Error",
    XRealIp = "X-Real-IP",
    XRequestedWith = "X-Requested-With",
}

const _: () = assert!(IDS.len() <= 128, "sets of fields are kept in a u128");

const SLOT_BITS: u32 = 11;
const SLOTS: usize = 1 << SLOT_BITS;

/// Mixes length and three letters (case folded) into a slot.
const fn slot(len: usize, first: u8, middle: u8, last: u8, seed: u32) -> usize {
    let key = u32::from_le_bytes([
        #[expect(
            clippy::cast_possible_truncation,
            reason = "only a hash; the compare decides"
        )]
        {
            len as u8
        },
        first | 0x20,
        middle | 0x20,
        last | 0x20,
    ]);
    (key.wrapping_mul(seed) >> (32 - SLOT_BITS)) as usize
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn slot_of_row(row: usize, seed: u32) -> usize {
    let name = NAMES[row].as_bytes();
    slot(
        name.len(),
        name[0],
        name[name.len() / 2],
        name[name.len() - 1],
        seed,
    )
}

/// The table for a seed, or `None` when two names fall into one slot.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn table(seed: u32) -> Option<[FieldId; SLOTS]> {
    let mut slots = [FieldId::Other; SLOTS];
    let mut row = 1;
    while row < IDS.len() {
        let at = slot_of_row(row, seed);
        if slots[at] as u8 != 0 {
            return None;
        }
        slots[at] = IDS[row];
        row += 1;
    }
    Some(slots)
}

const fn find_seed() -> u32 {
    let mut seed: u32 = 0x9e37_79b1;
    while table(seed).is_none() {
        seed = seed.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35e) | 1;
    }
    seed
}

const SEED: u32 = find_seed();

static TABLE: [FieldId; SLOTS] = match table(SEED) {
    Some(slots) => slots,
    None => [FieldId::Other; SLOTS],
};

impl FieldId {
    /// The id of a name in any letter case.
    pub fn of(name: &[u8]) -> Self {
        let (Some(&first), Some(&middle), Some(&last)) =
            (name.first(), name.get(name.len() / 2), name.last())
        else {
            return Self::Other;
        };
        let at = slot(name.len(), first, middle, last, SEED);
        let id = TABLE.get(at).copied().unwrap_or(Self::Other);
        let known = id.name().as_bytes();
        if known == name || known.eq_ignore_ascii_case(name) {
            id
        } else {
            Self::Other
        }
    }

    /// The name in its usual letter case; empty for [`FieldId::Other`].
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).copied().unwrap_or_default()
    }

    /// The row of the table as a bit, for sets of fields.
    pub const fn bit(self) -> u128 {
        1 << (self as u8)
    }

    /// All known ids, without [`FieldId::Other`].
    pub fn all() -> impl Iterator<Item = Self> {
        IDS.iter().copied().skip(1)
    }
}
