//! Switched off, everything passes and nothing is measured. Alone, since the switch is the process's.
#![allow(clippy::unwrap_used, reason = "tests")]

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use llmperf_core::{set_enabled, testing::Probe};
use llmperf_http::Measure;
use tower::{Layer as _, ServiceExt as _, service_fn};

#[tokio::test]
async fn switched_off_it_measures_nothing_and_on_again_it_does() {
    let probe = Probe::new();
    let echo = service_fn(|request: Request<llmperf_http::RequestBody<Full<Bytes>>>| async {
        Ok::<_, std::io::Error>(Response::new(request.into_body()))
    });
    let measure = Measure::new().instrumentation(probe.instrumentation());
    for (on, calls) in [(false, 0), (true, 2)] {
        set_enabled(on);
        let body = r#"{"model":"m","messages":[]}"#;
        let request = || Request::post("http://api.openai.com/v1/chat/completions").body(Full::from(body)).unwrap();
        let client = measure.clone().layer(echo).oneshot(request()).await.unwrap().into_body();
        let server = measure.clone().server().layer(echo).oneshot(request()).await.unwrap().into_body();
        for passed in [client, server] {
            assert_eq!(passed.is_measured(), on);
            assert_eq!(passed.collect().await.unwrap().to_bytes(), body);
        }
        assert_eq!(probe.spans().len(), calls);
    }
}
