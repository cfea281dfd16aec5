;;; journeyman-chat-test.el --- The mode in a real Emacs against the real program  -*- lexical-binding: t; -*-

;;; Commentary:

;; JM=path/to/jm emacs -Q --batch -L editors/emacs -l editors/emacs/test/journeyman-chat-test.el \
;;   -f ert-run-tests-batch-and-exit
;; Each case has a directory of its own.  The model is a script.

;;; Code:

(require 'ert)
(require 'journeyman-chat)

(defconst journeyman-chat-test--patience 60)

(defconst journeyman-chat-test--asks "[[turn]]
steps = [
  { text = \"I greet.\" },
  { call = \"bash\", id = \"b\", arguments = '{\"label\":\"greet\",\"command\":\"echo hello\",\"timeout\":null}' },
]
")

(defun journeyman-chat-test--wait (what holds)
  "Wait until HOLDS gives non-nil; WHAT says for what."
  (let ((end (+ (float-time) journeyman-chat-test--patience)))
    (while (not (funcall holds))
      (when (> (float-time) end)
        (error "Waited in vain for %s in:\n%s" what (buffer-string)))
      (accept-process-output nil 0.02))))

(defun journeyman-chat-test--idle ()
  "Wait until nothing works on the buffer, and it was looked at."
  (journeyman-chat-test--wait "the end of the run"
                              (lambda () (not (process-live-p journeyman-chat--process))))
  (let ((seen nil))
    (journeyman-chat-inspect (lambda () (setq seen t)))
    (journeyman-chat-test--wait "an inspection" (lambda () seen))))

(defun journeyman-chat-test--send ()
  "Send, and wait for the end."
  (journeyman-chat-send)
  (journeyman-chat-test--idle))

(defmacro journeyman-chat-test--with (files &rest body)
  "Run BODY in the buffer of t.chat in a directory with FILES, a list of names and texts."
  (declare (indent 1))
  `(let* ((root (file-name-as-directory (make-temp-file "jm-emacs" t)))
          (state (make-temp-file "jm-state" t))
          (process-environment (append (list (concat "JM_STATE_DIR=" state)
                                             (concat "XDG_CONFIG_HOME=" state))
                                       process-environment))
          (journeyman-program (list (getenv "JM")))
          (journeyman-model (concat "script:" root "model.toml"))
          (make-backup-files nil) (create-lockfiles nil)
          (said nil))
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (when format (push (apply #'format format arguments) said)))))
       (cl-loop for (name text) on ,files by #'cddr
                do (write-region text nil (concat root name) nil 'silent))
       (unwind-protect
           (with-current-buffer (find-file-noselect (concat root "t.chat"))
             (unwind-protect (progn ,@body)
               (set-buffer-modified-p nil)
               (kill-buffer)))
         (delete-directory root t)
         (delete-directory state t)))))

(defun journeyman-chat-test--model (root text)
  "Make TEXT the script of the model in ROOT."
  (write-region text nil (concat root "model.toml") nil 'silent))

(defun journeyman-chat-test--answer (expected said)
  "A script that expects a result with EXPECTED and answers SAID."
  (format "[[turn]]\nexpect = { results_contain = [%S] }\nsteps = [{ text = %S }]\n" expected said))

(ert-deftest a-whole-conversation-with-an-approval ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nGreet.\n" "model.toml" journeyman-chat-test--asks)
    (journeyman-chat-test--send)
    (should (string-search "status=pending" (buffer-string)))
    (should (cl-some (lambda (text) (string-search "b needs approval" text)) said))
    (let ((shown (cl-remove-if-not (lambda (over) (overlay-get over 'before-string))
                                   (overlays-in (point-min) (point-max)))))
      (should (= 1 (length shown)))
      (should (string-search "echo hello" (overlay-get (car shown) 'before-string))))
    (should (looking-at-p "\\*\\*Tool Result:\\*\\* `b`"))
    (journeyman-chat-test--model root (journeyman-chat-test--answer "hello" "Greeted."))
    (journeyman-chat-approve)
    (journeyman-chat-test--wait "the approval"
                                (lambda () (string-search "status=approved" (buffer-string))))
    (journeyman-chat-test--send)
    (should (string-search "@Assistant:\nGreeted.\n\n@You:" (buffer-string)))
    (should-not buffer-read-only)
    (should-not (buffer-modified-p))))

(ert-deftest a-rejection-tells-the-reason ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nGreet.\n" "model.toml" journeyman-chat-test--asks)
    (journeyman-chat-test--send)
    (journeyman-chat-test--model root (journeyman-chat-test--answer "not on my machine" "A pity."))
    (journeyman-chat-reject "not on my machine")
    (journeyman-chat-test--wait
     "the rejection" (lambda () (string-search "status=rejected\nnot on my machine\n```" (buffer-string))))
    (journeyman-chat-test--send)
    (should (string-search "(error)\n\n```\nnot on my machine\n```" (buffer-string)))
    (should (string-search "A pity." (buffer-string)))))

(ert-deftest one-tool-runs-by-itself ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nGreet.\n" "model.toml" journeyman-chat-test--asks)
    (journeyman-chat-test--send)
    (journeyman-chat-tool)
    (journeyman-chat-test--wait "the result" (lambda () (string-search "```\nhello\n" (buffer-string))))
    (journeyman-chat-test--idle)
    (journeyman-chat-test--wait "point at the call"
                                (lambda () (looking-at-p "\\*\\*Tool Use:\\*\\* `bash` (`b`)")))))

(ert-deftest the-buffer-is-locked-while-it-works-and-a-key-stops-it ()
  (journeyman-chat-test--with
      (list "t.chat" "@You:\nHello\n"
            "model.toml" "[[turn]]\nsteps = [{ text = \"Slowly\" }, { delay_ms = 60000 }, { text = \".\" }]\n")
    (journeyman-chat-send)
    (should buffer-read-only)
    (journeyman-chat-test--wait "the streamed answer"
                                (lambda () (string-search "Slowly" journeyman-chat--answer)))
    (journeyman-chat-cancel)
    (journeyman-chat-test--idle)
    (should-not buffer-read-only)
    (should (string-search "Slowly" (buffer-string)))
    (should (string-search "<!-- flemma:aborted:" (buffer-string)))))

(ert-deftest a-program-that-is-killed-gives-the-buffer-back ()
  (journeyman-chat-test--with
      (list "t.chat" "@You:\nHello\n"
            "model.toml" "[[turn]]\nsteps = [{ text = \"Slowly\" }, { delay_ms = 60000 }]\n")
    (journeyman-chat-send)
    (journeyman-chat-test--wait "the streamed answer"
                                (lambda () (string-search "Slowly" journeyman-chat--answer)))
    (signal-process journeyman-chat--process 'KILL)
    (journeyman-chat-test--idle)
    (should-not buffer-read-only)
    (should (cl-some (lambda (text) (string-search "send it again to continue" text)) said))
    (journeyman-chat-test--model root "[[turn]]\nsteps = [{ text = \"Here I am.\" }]\n")
    (journeyman-chat-test--send)
    (should (string-search "Here I am." (buffer-string)))))

(defconst journeyman-chat-test--writes "[[turn]]
steps = [{ call = \"write\", id = \"w\", arguments = '{\"label\":\"notes\",\"path\":\"notes.txt\",\"content\":\"theirs\\n\"}' }]
[[turn]]
steps = [{ text = \"So be it.\" }]
")

(ert-deftest a-file-with-unsaved-changes-is-not-written ()
  (journeyman-chat-test--with
      (list "t.chat" "@You:\nWrite.\n" "model.toml" journeyman-chat-test--writes "notes.txt" "old\n")
    (let ((other (find-file-noselect (concat root "notes.txt"))))
      (unwind-protect
          (progn
            (with-current-buffer other (erase-buffer) (insert "mine\n"))
            (journeyman-chat-test--send)
            (should (string-search "(error)" (buffer-string)))
            (should (equal "mine\n" (with-current-buffer other (buffer-string))))
            (should (equal "old\n" (with-temp-buffer (insert-file-contents (concat root "notes.txt"))
                                                     (buffer-string)))))
        (with-current-buffer other (set-buffer-modified-p nil) (kill-buffer))))))

(ert-deftest a-saved-file-is-read-again-when-the-agent-wrote-it ()
  (journeyman-chat-test--with
      (list "t.chat" "@You:\nWrite.\n" "model.toml" journeyman-chat-test--writes "notes.txt" "old\n")
    (let ((other (find-file-noselect (concat root "notes.txt"))))
      (journeyman-chat-test--send)
      (should (equal "theirs\n" (with-current-buffer other (buffer-string))))
      (kill-buffer other))))

(ert-deftest a-pending-edit-is-shown-as-a-diff ()
  (journeyman-chat-test--with
      (list "notes.txt" "one\ntwo\nthree\n" "model.toml" ""
            "t.chat" "@You:\nEdit.\n\n@Assistant:\n**Tool Use:** `edit` (`e`)\n\n```json
{\"label\":\"fix\",\"path\":\"notes.txt\",\"oldText\":\"two\",\"newText\":\"zwei\"}\n```\n
@You:\n**Tool Result:** `e`\n\n```flemma:tool status=pending\n```\n")
    (goto-char (point-min))
    (search-forward "Tool Result")
    (journeyman-chat-diff)
    (journeyman-chat-test--wait "the diff" (lambda () (get-buffer "*jm diff e*")))
    (with-current-buffer "*jm diff e*"
      (should (derived-mode-p 'diff-mode))
      (should (string-search "-two\n+zwei" (buffer-string)))
      (kill-buffer))))

(ert-deftest findings-are-marked ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nHello\n\n@assistant:\nHi\n" "model.toml" "")
    (journeyman-chat-test--idle)
    (goto-char (point-min))
    (search-forward "@assistant")
    (should (cl-some (lambda (over) (string-search "Unknown role" (or (overlay-get over 'help-echo) "")))
                     (overlays-at (1- (point)))))))

(ert-deftest statuses-and-tools-are-completed ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nx\n" "model.toml" "")
    (journeyman-chat-test--idle)
    (goto-char (point-max))
    (insert "```flemma:tool status=app")
    (should (member "approved" (nth 2 (journeyman-chat-complete))))
    (insert " \"calc")
    (should (member "calculator" (nth 2 (journeyman-chat-complete))))))

(ert-deftest a-program-that-is-not-there-is-named ()
  (journeyman-chat-test--with (list "t.chat" "@You:\nHello\n" "model.toml" "")
    (journeyman-chat-test--idle)
    (let ((journeyman-program '("no-such-jm")))
      (should (string-search "no-such-jm" (cadr (should-error (journeyman-chat-send)))))
      (should-not buffer-read-only))))

;;; journeyman-chat-test.el ends here
