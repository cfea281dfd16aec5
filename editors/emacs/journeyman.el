;;; journeyman.el --- A coding agent in Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; M-x journeyman opens a conversation for the project.  Write a prompt and type C-c C-c; the answer streams
;; in.  Each call of the model is one line that opens its file; TAB shows its arguments and result.  Calls
;; that change something wait in a buffer with their diff.
;;
;; The program `jm acp' does the work; it is started once for each conversation, and Emacs never waits for
;; it.  If it dies, the conversation says so; the next prompt restarts it.

;;; Code:

(require 'cl-lib)
(require 'journeyman-acp)
(require 'journeyman-approval)
(require 'journeyman-base)
(require 'journeyman-buffers)
(require 'journeyman-chat)
(require 'journeyman-dispatch)
(require 'journeyman-log)
(require 'journeyman-panels)
(require 'project)
(require 'subr-x)

(defcustom journeyman-arguments nil
  "Additional flags of `jm', such as --toolset and its name."
  :type '(repeat string)
  :group 'journeyman)

(defvar journeyman-prompt-ended-functions nil
  "Functions that are called in a conversation when a prompt was answered.
They get the stop reason of the answer, or nil after an error.")

(defvar-local journeyman--acp nil "The connection of this conversation.")
(defvar-local journeyman--session nil "The id of the session.")
(defvar-local journeyman--prompted nil "Non-nil once the session has had a prompt.")
(defvar-local journeyman--busy nil "Non-nil while a prompt is being answered.")
(defvar-local journeyman--title nil "The title of the session.")
(defvar-local journeyman--usage nil "The use of the model's context.")
(defvar-local journeyman--options nil "The settings that can be changed.")
(defvar-local journeyman--commands nil "The commands that a prompt may begin with.")

;;;; The program

(defun journeyman--start (done)
  "Start and initialize the program; call DONE when it is ready."
  (setq journeyman--acp
        (journeyman-acp-start
         (append journeyman-arguments '("acp") (and journeyman-model (list "--model" journeyman-model)))
         #'journeyman--asked #'journeyman--told #'journeyman--died))
  (journeyman--ask
   "initialize"
   `((protocolVersion . 1)
     (clientCapabilities . ((fs . ((readTextFile . t) (writeTextFile . :false)))
                            (terminal . :false) (session . ((notices . ,(make-hash-table))))))
     (clientInfo . ((name . "emacs") (title . "Emacs") (version . ,emacs-version))))
   (lambda (_result) (funcall done))))

(defun journeyman--ask (method params done)
  "Ask METHOD with PARAMS; DONE gets the result.  An error is shown instead."
  (journeyman-acp-request
   journeyman--acp method params
   (lambda (result problem)
     (if (not problem)
         (funcall done result)
       (setq journeyman--busy nil)
       (force-mode-line-update)
       ;; That the program died is told once, by itself.
       (when (journeyman-acp-live-p journeyman--acp)
         (journeyman-log-note (journeyman-acp-error-text problem) t)
         (run-hook-with-args 'journeyman-prompt-ended-functions nil))))))

(defun journeyman--ground ()
  "The directory of the session, for requests."
  `((cwd . ,(directory-file-name journeyman-log-root)) (mcpServers . [])))

(defun journeyman--with-session (done)
  "Call DONE when there is a session.
A session of a program that died is resumed."
  (cond ((and journeyman--session (journeyman-acp-live-p journeyman--acp)) (funcall done))
        ((not (journeyman-acp-live-p journeyman--acp))
         (journeyman--start (lambda () (journeyman--open done))))
        (t (journeyman--open done))))

(defun journeyman--open (done)
  "Open a session, or resume the previous one, and call DONE."
  (if (and journeyman--session journeyman--prompted)
      (journeyman--ask "session/resume"
                       `((sessionId . ,journeyman--session) ,@(journeyman--ground))
                       (lambda (result) (journeyman--opened result) (funcall done)))
    (journeyman--ask "session/new" (journeyman--ground)
                     (lambda (result)
                       (setq journeyman--session (alist-get 'sessionId result))
                       (journeyman--opened result)
                       (funcall done)))))

(defun journeyman--opened (result)
  "Store the settings in RESULT."
  (setq journeyman--options (append (alist-get 'configOptions result) nil))
  (force-mode-line-update))

(defun journeyman--died (code said)
  "Report that the program ended with CODE and printed SAID."
  (let ((was-busy journeyman--busy))
    (setq journeyman--busy nil)
    (dolist (call (journeyman-log-calls))
      (when (member (journeyman-call-status call) '("pending" "in_progress"))
        (journeyman-log-update-call `((toolCallId . ,(journeyman-call-id call)) (status . "lost")))))
    (journeyman-approval-drop)
    (journeyman-base-reread journeyman-log-root)
    (journeyman-log-note
     (concat (format "The program ended (exit code %s)." code)
             (unless (string-empty-p said) (concat "\n" said))
             "\nEverything up to here is in the journal; the next prompt starts it again"
             (if was-busy " and asks what to do with interrupted calls." "."))
     t)
    (force-mode-line-update)
    (run-hook-with-args 'journeyman-prompt-ended-functions nil)))

;;;; What the program tells and asks

(defun journeyman--text (update)
  "The text of a chunk UPDATE."
  (let-alist update (if (stringp .content.text) .content.text "")))

(defun journeyman--told (method params)
  "Show what METHOD with PARAMS tells."
  (when (equal method "session/update")
    (let ((update (alist-get 'update params)))
      (let-alist update
        (pcase .sessionUpdate
          ("agent_message_chunk" (journeyman-log-say 'agent (journeyman--text update)))
          ("agent_thought_chunk" (journeyman-log-say 'thought (journeyman--text update)))
          ("user_message_chunk" (journeyman-log-say 'you (journeyman--text update)))
          ((or "tool_call" "tool_call_update") (journeyman--call-told update))
          ("plan" (journeyman-panels-take-plan .entries))
          ("notice" (journeyman-log-note (concat .title (and (stringp .description)
                                                            (concat "\n" .description)))))
          ("available_commands_update" (setq journeyman--commands (append .availableCommands nil)))
          ("config_option_update" (setq journeyman--options (append .configOptions nil)))
          ("usage_update" (setq journeyman--usage update))
          ("session_info_update" (when (stringp .title) (setq journeyman--title .title)))))
      (force-mode-line-update))))

(defun journeyman--call-told (update)
  "Show UPDATE of a call, and what it means for other buffers."
  (let ((call (journeyman-log-update-call update)))
    (pcase (journeyman-call-status call)
      ("in_progress"
       (when (and (equal (journeyman-call-kind call) "execute") (alist-get 'content update)
                  (journeyman-panels-stream call))
         (journeyman-log-update-call `((toolCallId . ,(journeyman-call-id call))))))
      ((or "completed" "failed")
       (journeyman-panels-end-stream call)
       (journeyman-base-reread journeyman-log-root)))))

(defun journeyman--asked (id method params)
  "Answer the request ID for METHOD with PARAMS, now or later."
  (pcase method
    ("fs/read_text_file"
     (pcase (journeyman-buffers-read journeyman-log-root params)
       (`(ok . ,result) (journeyman-acp-respond journeyman--acp id result))
       (`(error . ,text) (journeyman-acp-refuse journeyman--acp id -32002 text))))
    ("session/request_permission"
     (let-alist params
       (journeyman-approval-ask (journeyman-log-update-call .toolCall) .options
                                (journeyman--responder id))))
    (_ (journeyman-acp-refuse journeyman--acp id -32601 (concat "There is no " method " here")))))

(defun journeyman--responder (id)
  "A function that answers the question ID of the current program."
  (let ((acp journeyman--acp))
    (lambda (option reason)
      (journeyman-acp-respond
       acp id
       (if option
           `((outcome . ((outcome . "selected") (optionId . ,option)))
             ,@(and reason `((_meta . ((journeyman . ((reason . ,reason))))))))
         '((outcome . ((outcome . "cancelled")))))))))

;;;; Commands

(defun journeyman-send ()
  "Send the prompt that was written."
  (interactive)
  (when journeyman--busy (user-error "Still working; C-c C-k stops it"))
  (when (string-blank-p (journeyman-log-input)) (user-error "Write a prompt first"))
  (let ((text (string-trim (journeyman-log-input))))
    (setq journeyman--busy t)
    (condition-case problem
        (journeyman--with-session
         (lambda ()
           (setq journeyman--prompted t)
           (journeyman--ask "session/prompt"
                            `((sessionId . ,journeyman--session)
                              (prompt . [((type . "text") (text . ,text))]))
                            #'journeyman--answered)))
      (error (setq journeyman--busy nil)
             (signal (car problem) (cdr problem))))
    (journeyman-log-take-input)
    (journeyman-log-say 'you (concat text "\n"))
    (force-mode-line-update)))

(defun journeyman--answered (result)
  "Process the end of an answer, RESULT."
  (let ((reason (alist-get 'stopReason result)))
    (setq journeyman--busy nil)
    ;; A question that the program no longer asks.
    (when journeyman-approval-questions (journeyman-approval-drop))
    (pcase reason
      ("end_turn" nil)
      ("cancelled" (journeyman-log-note "Stopped"))
      ("max_tokens" (journeyman-log-note "The answer was cut off by the token limit"))
      ("refusal" (journeyman-log-note "The model refused to continue"))
      (other (journeyman-log-note (format "Stopped: %s" other))))
    (journeyman-log-end-line)
    (journeyman-base-reread journeyman-log-root)
    (force-mode-line-update)
    (run-hook-with-args 'journeyman-prompt-ended-functions reason)))

(defun journeyman-cancel ()
  "Stop the turn; calls that need approval are not run."
  (interactive)
  (if (not journeyman--busy)
      (message "jm: nothing is running")
    (journeyman-acp-notify journeyman--acp "session/cancel" `((sessionId . ,journeyman--session)))
    (journeyman-approval-drop)))

(defun journeyman-set-option ()
  "Change a setting of this conversation: approval mode or model."
  (interactive)
  (unless (and journeyman--options (journeyman-acp-live-p journeyman--acp))
    (user-error "Settings are available after the first prompt"))
  (let* ((by-name (lambda (entries) (mapcar (lambda (it) (cons (alist-get 'name it) it)) entries)))
         (options (funcall by-name journeyman--options))
         (option (cdr (assoc (completing-read "Setting: " options nil t) options)))
         (values (funcall by-name (alist-get 'options option)))
         (value (cdr (assoc (completing-read "Value: " values nil t) values))))
    (journeyman--ask "session/set_config_option"
                     `((sessionId . ,journeyman--session) (configId . ,(alist-get 'id option))
                       (value . ,(alist-get 'value value)))
                     #'journeyman--opened)))

(defun journeyman-complete ()
  "Complete the command that a prompt begins with.
For `completion-at-point-functions'."
  (when (and journeyman-log--input (>= (point) journeyman-log--input)
             (string-match-p "\\`/[a-z]*\\'"
                             (buffer-substring-no-properties journeyman-log--input (point))))
    (list (1+ journeyman-log--input) (point)
          (mapcar (lambda (command) (alist-get 'name command)) journeyman--commands))))

;;;; The mode

(defvar journeyman-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'journeyman-send)
    (define-key map (kbd "C-c C-k") #'journeyman-cancel)
    (define-key map (kbd "C-c C-a") #'journeyman-approval-show)
    (define-key map (kbd "C-c C-t") #'journeyman-panels-show-tasks)
    (define-key map (kbd "C-c C-o") #'journeyman-log-show-stream)
    (define-key map (kbd "C-c C-f") #'journeyman-log-visit)
    (define-key map (kbd "C-c C-n") #'journeyman-log-next-call)
    (define-key map (kbd "C-c C-p") #'journeyman-log-previous-call)
    (define-key map (kbd "C-c C-s") #'journeyman-set-option)
    (define-key map (kbd "C-c C-x") #'journeyman-dispatch-block)
    (define-key map (kbd "TAB") #'journeyman-tab)
    map))

(defun journeyman-tab ()
  "Show or hide the call at point; in the prompt, complete."
  (interactive)
  (if (journeyman-log-call-at-point)
      (journeyman-log-toggle (journeyman-log-call-at-point))
    (completion-at-point)))

(defun journeyman--header ()
  "The line above the conversation."
  (let ((setting (lambda (id)
                   (alist-get 'currentValue (cl-find id journeyman--options :test #'equal
                                                     :key (lambda (it) (alist-get 'id it)))))))
    (string-join
     (delq nil (list (concat " " (abbreviate-file-name (or journeyman-log-root "")))
                     journeyman--title
                     (funcall setting "model")
                     (and (funcall setting "mode") (concat "approval: " (funcall setting "mode")))
                     (let-alist journeyman--usage
                       (and (numberp .used) (numberp .size) (> .size 0)
                            (format "%d%% of context" (/ (* 100 .used) .size))))
                     (and (journeyman-panels-count) (concat "tasks " (journeyman-panels-count)))))
     " · ")))

(define-derived-mode journeyman-mode text-mode "Journeyman"
  "A conversation with a coding agent.

\\{journeyman-mode-map}"
  (setq-local header-line-format
              '(:eval (string-replace "%" "%%" (journeyman--header))))
  (setq-local mode-line-process
              '(:eval (cond (journeyman-approval-questions " needs approval")
                            (journeyman--busy " working"))))
  (setq-local scroll-conservatively 101)
  (setq-local buffer-invisibility-spec '((journeyman . nil) t))
  (visual-line-mode 1)
  (add-hook 'completion-at-point-functions #'journeyman-complete nil t)
  (add-hook 'kill-buffer-hook #'journeyman--forget nil t))

(defun journeyman--forget ()
  "End the program of a buffer that is killed."
  (journeyman-approval-drop)
  (journeyman-acp-end journeyman--acp))

(defun journeyman--project-root ()
  "The directory of the project that the current buffer belongs to."
  (let ((project (project-current)))
    (file-name-as-directory
     (file-truename (if project (project-root project) default-directory)))))

;;;###autoload
(defun journeyman (&optional earlier)
  "Open the conversation of this project, or a new one.
With a prefix argument EARLIER, choose one of its earlier sessions."
  (interactive "P")
  (let* ((root (journeyman--project-root))
         (name (format "*journeyman: %s*" (file-name-nondirectory (directory-file-name root))))
         (known (cl-find-if (lambda (buffer)
                              (and (eq (buffer-local-value 'major-mode buffer) 'journeyman-mode)
                                   (equal (buffer-local-value 'journeyman-log-root buffer) root)))
                            (buffer-list)))
         (buffer (or known (generate-new-buffer name))))
    (unless known
      (with-current-buffer buffer
        (journeyman-mode)
        (setq journeyman-log-root root default-directory root)
        (journeyman-log-begin)))
    (pop-to-buffer buffer)
    (when earlier (journeyman-load))))

(defun journeyman-load ()
  "Choose an earlier session of this project and continue it."
  (interactive)
  (when journeyman--busy (user-error "Still working; C-c C-k stops it"))
  (let ((list-them
         (lambda ()
           (journeyman--ask
            "session/list" `((cwd . ,(directory-file-name journeyman-log-root)))
            (lambda (result)
              (let ((sessions (append (alist-get 'sessions result) nil)) (buffer (current-buffer)))
                ;; Not inside the process filter: reading an answer would hold up everything else.
                (run-at-time 0 nil (lambda ()
                                     (when (buffer-live-p buffer)
                                       (with-current-buffer buffer (journeyman--choose sessions)))))))))))
    (if (journeyman-acp-live-p journeyman--acp) (funcall list-them) (journeyman--start list-them))))

(defun journeyman--choose (sessions)
  "Read one of SESSIONS, and load it."
  (unless sessions (user-error "No earlier session in this project"))
  (let* ((named (mapcar (lambda (it)
                          (let-alist it
                            (cons (format "%s  %s  %s" .updatedAt .sessionId (if (stringp .title) .title ""))
                                  .sessionId)))
                        sessions))
         (chosen (completing-read "Session: " named nil t)))
    (journeyman-load-session (cdr (assoc chosen named)))))

(defun journeyman-load-session (id)
  "Continue the session ID; the conversation is shown again."
  (journeyman-log-begin)
  (setq journeyman--session id journeyman--prompted t)
  (journeyman--ask "session/load" `((sessionId . ,id) ,@(journeyman--ground)) #'journeyman--opened))

(provide 'journeyman)
;;; journeyman.el ends here
