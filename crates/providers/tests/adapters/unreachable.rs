//! Nobody there, or somebody else: said in one line, with what to do.

use jm_providers::{ModelClient, Wire};
use jm_script::{Script, ScriptServer};
use jm_types::StreamErrorKind;

use super::world::{listen, request, scripted, settings};

async fn ask_at(address: &str, retries: usize) -> (String, String) {
    let mut settings = settings();
    settings.environment.insert("BOX_BASE_URL".to_owned(), address.to_owned());
    let heard = listen(&ModelClient::open("box/m", &settings).unwrap(), request("Go.")).await;
    assert_eq!(heard.retries(), retries, "{address}");
    let error = heard.error.unwrap();
    assert_eq!(error.kind, StreamErrorKind::Connection, "{address}");
    (error.message, error.hint.unwrap())
}

#[tokio::test]
async fn nobody_listens() {
    let (message, hint) = ask_at("http://me:secret@127.0.0.1:1/v1", 0).await;
    let expected = "cannot reach 127.0.0.1:1: tcp connect error: Connection refused (os error 111)";
    assert_eq!(message, expected);
    assert_eq!(hint, "is the server running?");
}

#[tokio::test]
async fn a_server_without_tls() {
    let server = ScriptServer::start(Script::parse("").unwrap()).await.unwrap();
    let address = server.base_url(Wire::OpenaiChat).replace("http:", "https:");
    let (message, hint) = ask_at(&address, 2).await;
    assert!(
        message.starts_with("cannot reach 127.0.0.1:") && !message.contains("url"),
        "{message}"
    );
    assert!(hint.contains("does not speak TLS"), "{hint}");
}

/// A server that repeats the request in an answer that is no stream of events, however much of it.
#[tokio::test]
async fn a_key_is_removed_from_whatever_a_server_says() {
    const KEY: &str = "sk-very-secret-0123456789";
    for before in [0, 230, 250, 265, 280, 390] {
        let echo = format!("{}you sent: {KEY} {KEY}", ". ".repeat(before / 2));
        for turn in [format!("raw = \"{echo}\""), format!("status = 400\nbody = \"{echo}\"")] {
            let server = scripted(&format!("[[turn]]\n{turn}\n"), Wire::OpenaiChat).await;
            let mut settings = settings();
            let address = server.server.base_url(Wire::OpenaiChat);
            settings.environment.insert("OPENAI_BASE_URL".to_owned(), address);
            settings.environment.insert("OPENAI_API_KEY".to_owned(), KEY.to_owned());
            let client = ModelClient::open("openai-chat/m", &settings).unwrap();
            let error = listen(&client, request("Go.")).await.error.unwrap();
            let told = format!("{} {:?}", error.message, error.hint);
            assert!(!told.contains(&KEY[..8]), "{before}: {told}");
            assert!(before > 0 || told.contains("you sent: [key]"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_page_in_place_of_an_answer() {
    for wire in Wire::ALL {
        let page = "[[turn]]\nraw = \"<!DOCTYPE html><p>Welcome\"\n";
        let heard = listen(&*scripted(page, wire).await, request("Go.")).await;
        let error = heard.error.unwrap();
        assert_eq!(error.kind, StreamErrorKind::Malformed, "{wire:?}");
        assert!(error.message.contains("<p>Welcome"), "{wire:?}: {error}");
        assert!(error.hint.unwrap().contains("base URL"), "{wire:?}");
    }
}
