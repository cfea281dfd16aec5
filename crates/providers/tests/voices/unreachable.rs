//! Nobody there, or somebody else: said in one line, with what to do.

use jm_providers::{Client, Script, Wire};
use jm_types::StreamErrorKind;

use super::world::{listen, request, scripted, settings};

async fn ask_at(address: &str) -> (String, String) {
    let mut settings = settings();
    settings.environment.insert("BOX_BASE_URL".to_owned(), address.to_owned());
    let heard = listen(&Client::open("box/m", &settings).unwrap(), request("Go.")).await;
    assert_eq!(heard.retries(), 2, "{address}");
    let error = heard.error.unwrap();
    assert_eq!(error.kind, StreamErrorKind::Connection, "{address}");
    (error.message, error.hint.unwrap())
}

#[tokio::test]
async fn nobody_listens() {
    let (message, hint) = ask_at("http://me:secret@127.0.0.1:1/v1").await;
    let expected =
        "127.0.0.1:1 could not be reached: tcp connect error: Connection refused (os error 111)";
    assert_eq!(message, expected);
    assert_eq!(hint, "check the network, the proxy and the base URL");
}

#[tokio::test]
async fn a_server_without_tls() {
    let server = jm_providers::Server::start(Script::parse("").unwrap()).await.unwrap();
    let address = server.base_url(Wire::OpenaiChat).replace("http:", "https:");
    let (message, hint) = ask_at(&address).await;
    assert!(message.starts_with("127.0.0.1:") && !message.contains("url"), "{message}");
    assert!(hint.contains("does not speak TLS"), "{hint}");
}

#[tokio::test]
async fn a_page_in_place_of_an_answer() {
    for wire in Wire::ALL {
        let page = "[[turn]]\nraw = \"<!DOCTYPE html><p>Welcome\"\n";
        let heard = listen(&scripted(page, wire).await, request("Go.")).await;
        let error = heard.error.unwrap();
        assert_eq!(error.kind, StreamErrorKind::Malformed, "{wire:?}");
        assert!(error.message.contains("<p>Welcome"), "{wire:?}: {error}");
        assert!(error.hint.unwrap().contains("base URL"), "{wire:?}");
    }
}
